"""The language model, built from the settings, with a way out of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cinder.app.values import reading_settings
from cinder.config import LlmSettings, Settings
from cinder.egress import ForwardProxy
from cinder.fetch.client import ClientOptions, ProxiedClient
from cinder.llm.addresses import parse_base_url
from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.base import HttpClient, LanguageModel, ModelRequest
from cinder.llm.budget import Budget, BudgetLimits
from cinder.llm.client import HttpLanguageModel
from cinder.llm.endpoint import Endpoint, EndpointOptions
from cinder.llm.openai import OpenAiFormat
from cinder.metrics import Metrics
from cinder.model.headers import is_sendable
from cinder.model.request import OWNER
from cinder.model.url import origin_of
from cinder.services.health import Check, telling_address
from cinder.services.summarizing import Summarizer
from cinder.services.summary_writing import SummaryWriter

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
        return {"model": telling_address(self._try_out, self.address)}

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
    with reading_settings():
        base_url = _read_base_url(llm.base_url)
        client = ProxiedClient(
            proxy, _client_options(llm), homes=(base_url,), ca_file=settings.egress.ca_file
        )
        model = _make_model(llm, base_url, client, metrics)
    async with client:
        yield ConfiguredModel(
            model=model,
            address=origin_of(base_url),
            limits=_limits(llm),
            chunk_tokens=llm.chunk_tokens,
        )


def make_summarizer(configured: ConfiguredModel, metrics: Metrics) -> Summarizer:
    """Return what has the model write summaries."""
    writer = SummaryWriter(configured.model, configured.limits, configured.chunk_tokens)
    return Summarizer(writer, configured.new_budget, metrics)


def _make_model(
    llm: LlmSettings, base_url: str, client: HttpClient, metrics: Metrics
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


def _limits(llm: LlmSettings) -> BudgetLimits:
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
