"""Builds the language model, the extraction stages and summaries from the settings."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cinder.app.settings import settings_errors
from cinder.config.outbound import ExtractSettings, LlmSettings
from cinder.config.settings import Settings
from cinder.egress.proxy import ForwardProxy
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.base import Budget, BudgetLimits, LanguageModel, ModelHttpClient, ModelRequest
from cinder.llm.client import HttpLanguageModel
from cinder.llm.endpoint import Endpoint, EndpointOptions
from cinder.llm.openai import OpenAiFormat
from cinder.llm.wire_format import parse_base_url
from cinder.metrics import Metrics, counting
from cinder.models.http import is_sendable
from cinder.models.request import OWNER
from cinder.models.url import origin_of
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.model_stage import ModelExtractor, ModelStage
from cinder.services.extraction.pipeline import ExtractionModel, Extractor, FindingsCache
from cinder.services.extraction.service import ExtractLimits, ExtractService
from cinder.services.extraction.site_recipes import RecipeLearner, RecipeStage
from cinder.services.extraction.stages import ExtractionStage, PageScraper, RulesStage
from cinder.services.health import Check, check_with_address
from cinder.services.scraping.service import ScrapeService
from cinder.services.summary import Summarizer, SummaryWriter
from cinder.store.recipe_book import RecipeBook, RecipeLimits

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_FORMATS: dict[str, type[OpenAiFormat] | type[AnthropicFormat]] = {
    "openai": OpenAiFormat,
    "anthropic": AnthropicFormat,
}
_TRIAL = ModelRequest(user="Say: it works.", max_output_tokens=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredModel:
    """The configured language model, and the budget of a request."""

    model: LanguageModel
    address: str
    """Its origin, which only the owner sees."""
    limits: BudgetLimits
    chunk_tokens: int
    """The approximate number of tokens of a page in one call."""

    def new_budget(self, caller: str = OWNER) -> Budget:
        """Return the budget of a request, whose time starts now."""
        return Budget(self.limits, caller=caller)

    @property
    def trials(self) -> dict[str, Check]:
        """A check that sends a prompt to the model."""

        async def complete() -> None:
            await self.model.complete(_TRIAL, self.new_budget())

        return {"model": check_with_address(complete, self.address)}


@asynccontextmanager
async def open_language_model(
    settings: Settings, proxy: ForwardProxy, metrics: Metrics
) -> AsyncIterator[ConfiguredModel | None]:
    """Open the configured model, if any.

    Only its client may connect to the address in the settings, if that is private.

    Raises:
        SettingsError: the address or the key cannot be used.
    """
    llm = settings.llm
    if llm.base_url is None:
        yield None
        return
    with settings_errors():
        try:
            base_url = parse_base_url(llm.base_url)
        except ValueError as error:
            raise ValueError(f"llm.base-url: {error}") from error
        options = ClientOptions(
            max_concurrency=llm.max_concurrency,
            timeout_seconds=llm.timeout_seconds,
            max_body_bytes=_MAX_ANSWER_BYTES,
            accepts_packed=True,
        )
        client = ProxiedClient(proxy, options, homes=(base_url,), ca_file=settings.egress.ca_file)
        model = _make_model(llm, base_url, client, metrics)
    async with client:
        yield ConfiguredModel(
            model=model,
            address=origin_of(base_url),
            limits=BudgetLimits(
                calls=llm.max_calls, tokens=llm.max_tokens, seconds=llm.max_seconds
            ),
            chunk_tokens=llm.chunk_tokens,
        )


def make_summarizer(configured: ConfiguredModel, metrics: Metrics) -> Summarizer:
    """Return the part that has the model write summaries."""
    writer = SummaryWriter(configured.model, configured.limits, configured.chunk_tokens)
    return Summarizer(writer, configured.new_budget, metrics)


def _make_model(
    llm: LlmSettings, base_url: str, client: ModelHttpClient, metrics: Metrics
) -> HttpLanguageModel:
    name, key = llm.model or "", None
    if llm.api_key is not None:
        key = llm.api_key.get_secret_value().strip()
        if not is_sendable(key):
            raise ValueError("llm.api-key: A key is ASCII text without line breaks")
    options = EndpointOptions(
        title=f"The language model {name!r}",
        address=origin_of(base_url),
        api_key=key,
        max_concurrency=llm.max_concurrency,
        max_retries=llm.max_retries,
        max_wait_seconds=llm.retry_wait_max_seconds,
    )
    wire = _FORMATS[llm.protocol](base_url, name, key)
    endpoint = Endpoint(client, wire, options, metrics)
    return HttpLanguageModel(name, endpoint, metrics, llm.max_output_tokens)


def make_extractor(
    settings: ExtractSettings,
    sandbox: ExtractionSandbox,
    configured: ConfiguredModel | None,
    book: RecipeBook,
    metrics: Metrics,
) -> Extractor:
    """Return the extractor, with its stages in the order in which they run."""
    count, learner, model = counting(metrics.recipes), None, None
    stages: list[ExtractionStage] = [RulesStage(sandbox)]
    if settings.recipes:
        failures = settings.recipe_max_failures
        stages.insert(0, RecipeStage(sandbox, book, max_failures=failures, count=count))
        limits = RecipeLimits(most=settings.max_recipes, days=settings.recipe_days)
        learner = RecipeLearner(sandbox, book, limits=limits, count=count)
    if configured:
        model = ExtractionModel(
            name=configured.model.name,
            stage=ModelStage(ModelExtractor(configured.model, sandbox, configured.chunk_tokens)),
            limits=configured.limits,
        )
    return Extractor(
        stages=stages, model=model, memory=FindingsCache(settings.held_values), learner=learner
    )


def make_extract_service(
    settings: ExtractSettings,
    extractor: Extractor,
    sandbox: ExtractionSandbox,
    scrape: ScrapeService,
    *,
    proxy_pools: Collection[str],
) -> ExtractService:
    """Return the service that extracts data from pages."""
    return ExtractService(
        reader=PageScraper(scrape, at_once=settings.max_concurrency),
        extractor=extractor,
        sandbox=sandbox,
        limits=ExtractLimits(max_urls=settings.max_urls, max_bytes=settings.max_output_bytes),
        proxy_pools=proxy_pools,
    )
