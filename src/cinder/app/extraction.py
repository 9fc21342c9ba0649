"""Builds the language model, the extraction stages and summaries from the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cinder.app.settings import settings_errors
from cinder.config import ExtractSettings, LlmSettings, Settings
from cinder.egress import ForwardProxy
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.base import Budget, BudgetLimits, LanguageModel, ModelHttpClient, ModelRequest
from cinder.llm.client import HttpLanguageModel
from cinder.llm.endpoint import Endpoint, EndpointOptions
from cinder.llm.openai import OpenAiFormat
from cinder.llm.wire_format import parse_base_url
from cinder.metrics import Metrics
from cinder.models.http import is_sendable
from cinder.models.request import OWNER
from cinder.models.url import origin_of
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.fallback_passages import FallbackPassageFinder
from cinder.services.extraction.model_stage import ModelExtractor, ModelStage
from cinder.services.extraction.pipeline import ExtractionModel, Extractor, FindingsCache
from cinder.services.extraction.service import ExtractLimits, ExtractService
from cinder.services.extraction.site_recipes import RecipeLearner, RecipeStage
from cinder.services.extraction.stages import RulesStage
from cinder.services.health import Check, check_with_address
from cinder.services.scraping.extraction_pages import PageScraper
from cinder.services.scraping.service import ScrapeService
from cinder.services.summary import Summarizer, SummaryWriter
from cinder.store import RecipeBook, RecipeLimits

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_FORMATS: dict[str, type[OpenAiFormat] | type[AnthropicFormat]] = {
    "openai": OpenAiFormat,
    "anthropic": AnthropicFormat,
}
_TRIAL = ModelRequest(user="Say: it works.", max_output_tokens=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredModel:
    """The owner's language model, and what one request may take of it."""

    model: LanguageModel
    address: str
    """Its origin: for the owner alone."""
    limits: BudgetLimits
    chunk_tokens: int
    """About how many tokens of a page one call carries."""

    def new_budget(self, caller: str = OWNER) -> Budget:
        """Return what one request of a caller may take; its time begins now."""
        return Budget(self.limits, caller=caller)

    @property
    def trials(self) -> dict[str, Check]:
        """A question, for a person who asks whether it works."""
        return {"model": check_with_address(self._try_out, self.address)}

    async def _try_out(self) -> None:
        await self.model.complete(_TRIAL, self.new_budget())


@asynccontextmanager
async def open_language_model(
    settings: Settings, proxy: ForwardProxy, metrics: Metrics
) -> AsyncIterator[ConfiguredModel | None]:
    """Open the model that the settings name, if any.

    Its client may reach the private address that the owner wrote, and no other client may.

    Raises:
        SettingsError: the address or the key cannot be used.
    """
    llm = settings.llm
    if llm.base_url is None:
        yield None
        return
    with settings_errors():
        base_url = _read_base_url(llm.base_url)
        client = ProxiedClient(
            proxy, _client_options(llm), homes=(base_url,), ca_file=settings.egress.ca_file
        )
        model = _make_model(llm, base_url, client, metrics)
    async with client:
        yield ConfiguredModel(
            model=model,
            address=origin_of(base_url),
            limits=_budget_limits(llm),
            chunk_tokens=llm.chunk_tokens,
        )


def make_summarizer(configured: ConfiguredModel, metrics: Metrics) -> Summarizer:
    """Return what has the model write summaries."""
    writer = SummaryWriter(configured.model, configured.limits, configured.chunk_tokens)
    return Summarizer(writer, configured.new_budget, metrics)


def _make_model(
    llm: LlmSettings, base_url: str, client: ModelHttpClient, metrics: Metrics
) -> HttpLanguageModel:
    name, key = llm.model or "", _read_key(llm)
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


def _client_options(llm: LlmSettings) -> ClientOptions:
    return ClientOptions(
        max_concurrency=llm.max_concurrency,
        timeout_seconds=llm.timeout_seconds,
        max_body_bytes=_MAX_ANSWER_BYTES,
        accepts_packed=True,
    )


def _budget_limits(llm: LlmSettings) -> BudgetLimits:
    return BudgetLimits(calls=llm.max_calls, tokens=llm.max_tokens, seconds=llm.max_seconds)


def _read_base_url(text: str) -> str:
    try:
        return parse_base_url(text)
    except ValueError as error:
        raise ValueError(f"llm.base-url: {error}") from error


def _read_key(llm: LlmSettings) -> str | None:
    if llm.api_key is None:
        return None
    key = llm.api_key.get_secret_value().strip()
    if not is_sendable(key):
        raise ValueError("llm.api-key: A key is ASCII text without line breaks")
    return key


@dataclass(frozen=True, slots=True)
class RecipeParts:
    """What recipes are kept in, and where it is counted what becomes of them."""

    book: RecipeBook
    metrics: Metrics


def make_extractor(
    settings: ExtractSettings,
    sandbox: ExtractionSandbox,
    configured: ConfiguredModel | None,
    recipes: RecipeParts,
) -> Extractor:
    """Return what finds values on pages; its stages stand in the order in which they are tried."""
    rules = RulesStage(sandbox)
    return Extractor(
        stages=[_recipe_stage(settings, sandbox, recipes), rules] if settings.recipes else [rules],
        model=_asked_model(sandbox, configured) if configured else None,
        memory=FindingsCache(settings.held_values),
        learner=_learner(settings, sandbox, recipes) if settings.recipes else None,
    )


def _recipe_stage(
    settings: ExtractSettings, sandbox: ExtractionSandbox, recipes: RecipeParts
) -> RecipeStage:
    return RecipeStage(
        sandbox,
        recipes.book,
        max_failures=settings.recipe_max_failures,
        count=recipes.metrics.count_recipe,
    )


def _learner(
    settings: ExtractSettings, sandbox: ExtractionSandbox, recipes: RecipeParts
) -> RecipeLearner:
    return RecipeLearner(
        sandbox,
        recipes.book,
        limits=RecipeLimits(most=settings.max_recipes, days=settings.recipe_days),
        count=recipes.metrics.count_recipe,
    )


def make_extract_service(
    settings: ExtractSettings,
    extractor: Extractor,
    sandbox: ExtractionSandbox,
    scrape: ScrapeService,
) -> ExtractService:
    """Return the service that answers what callers want to know of pages."""
    return ExtractService(
        reader=PageScraper(scrape, at_once=settings.max_concurrency),
        extractor=extractor,
        fallback_finder=FallbackPassageFinder(sandbox),
        limits=ExtractLimits(max_urls=settings.max_urls, max_bytes=settings.max_output_bytes),
    )


def _asked_model(sandbox: ExtractionSandbox, configured: ConfiguredModel) -> ExtractionModel:
    return ExtractionModel(
        name=configured.model.name,
        stage=ModelStage(ModelExtractor(configured.model, sandbox, configured.chunk_tokens)),
        limits=configured.limits,
    )
