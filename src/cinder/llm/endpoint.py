"""Calls to a model's server, with retries, and the meaning of its error responses."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus

import structlog
from structlog.typing import FilteringBoundLogger

from cinder import __version__
from cinder.errors import CinderError, ConnectionFailed
from cinder.fair_queue import FairQueue, Requester
from cinder.llm.base import Budget, ContextTooLong, FormatRefused, ModelFailed, ModelHttpClient
from cinder.llm.wire_format import EndpointDialect, WireAnswer, WireCall, WireFormat
from cinder.metrics import Metrics
from cinder.models.document import Json
from cinder.models.http import HttpResponse, read_retry_after
from cinder.models.redaction import hide_address

SETTING = "llm.base-url (CINDER_LLM__BASE_URL)"

_KEY = "llm.api-key (CINDER_LLM__API_KEY)"
_MODEL = "llm.model (CINDER_LLM__MODEL)"
_MAX_SHOWN_CHARS = 200
_MAX_READ_CHARS = 4_000

_ALWAYS_TOO_LONG = ("request too large", "request_too_large")
_TOO_LONG = (
    *_ALWAYS_TOO_LONG,
    "context_length_exceeded",
    "exceed_context_size",
    "context length",
    "context size",
    "context window",
    "context limit",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too many tokens",
    "reduce the length",
)
_UNPAID = ("insufficient_quota", "billing", "credit balance", "insufficient credits")
_UNSUPPORTED = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.NOT_IMPLEMENTED,
)
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_RETRIED = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
    # Anthropic's, for "overloaded".
    529,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error response."""

    status: int
    message: str
    """The server's message, cut to a length limit."""

    @property
    def is_too_long(self) -> bool:
        """Whether the prompt is longer than the model's context."""
        if self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return True
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            # A rate limit on tokens has similar words; these occur only if a request never fits.
            return self._contains(_ALWAYS_TOO_LONG)
        return self.status >= HTTPStatus.BAD_REQUEST and self._contains(_TOO_LONG)

    @property
    def is_retryable(self) -> bool:
        """Whether a retry may succeed."""
        return self.status in _RETRIED and not self.is_too_long and not self._contains(_UNPAID)

    def adapt(self, dialect: EndpointDialect) -> EndpointDialect | None:
        """Return the dialect that the server asks for instead; None if it asks for none."""
        if self.status not in _UNSUPPORTED or self.is_too_long:
            return None
        limit = "max_completion_tokens"
        if dialect.limit_name != limit and self._contains((limit,)):
            return replace(dialect, limit_name=limit)
        if dialect.sends_temperature and self._contains(("temperature",)):
            return replace(dialect, sends_temperature=False)
        return None

    def to_error(self, title: str, key: str | None, address: str) -> ModelFailed:
        """Return the error for the caller; its message contains neither key nor address."""
        if self.is_too_long:
            return ContextTooLong(
                f"{title} cannot read a prompt this long (it answered {self.status}). Send less, "
                "or choose a model with a larger context"
            )
        if self._contains(_UNPAID):
            meaning = "the account has no credit left; top it up with the provider"
        elif self.status in _REFUSED:
            meaning = f"it refuses the key; check {_KEY}"
        elif self.status == HTTPStatus.TOO_MANY_REQUESTS:
            meaning = "it is asked too often; ask less often, or lower llm.max-concurrency"
        elif self.status == HTTPStatus.NOT_FOUND:
            meaning = f"there is no such model or no such path; check {_MODEL} and {SETTING}"
        elif self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            meaning = "it has troubles of its own; try again later"
        elif HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST:
            meaning = f"it redirects elsewhere; check {SETTING}"
        else:
            message = hide_address(self.message, address)
            message = message.replace(key, "…") if key else message
            message = " ".join(message.split())[:_MAX_SHOWN_CHARS] or "nothing"
            meaning = f"it refuses the request; check {_MODEL}. It says: {message}"
        kind = FormatRefused if self.status in _UNSUPPORTED else ModelFailed
        return kind(f"{title} answered {self.status}: {meaning}")

    def _contains(self, words: tuple[str, ...]) -> bool:
        message = self.message.lower()
        return any(word in message for word in words)


def find_refusal(response: HttpResponse, body: Json) -> Refusal | None:
    """Return the error in a response, if any.

    Some gateways send errors with the status 200, and the actual one in the body.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    if response.status == HTTPStatus.OK and error is None:
        return None
    status = response.status
    if status == HTTPStatus.OK:
        code = error.get("code") if isinstance(error, Mapping) else None
        is_status = isinstance(code, int) and HTTPStatus.BAD_REQUEST <= code < 600
        status = code if isinstance(code, int) and is_status else HTTPStatus.BAD_GATEWAY
    if isinstance(error, Mapping):
        parts = (error.get(name) for name in ("message", "type", "code", "param"))
        message = " · ".join(str(part) for part in parts if part)
    elif error is not None:
        message = json.dumps(error)
    else:
        message = response.body[:_MAX_READ_CHARS].decode(errors="replace")
    return Refusal(status=status, message=message[:_MAX_READ_CHARS])


_HEADERS = {
    "User-Agent": f"cinder/{__version__}",
    "Accept": "application/json",
    "Content-Type": "application/json",
}
# An estimate for providers that do not count tokens; common text has more characters per token.
_CHARS_PER_TOKEN = 3

_log: FilteringBoundLogger = structlog.get_logger()

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """The server to call, and how often to retry."""

    title: str
    """Its name in error messages, such as `The language model 'qwen3'`."""
    address: str
    """Its address, such as `http://127.0.0.1:11434`: for the log only, not for callers."""
    api_key: str | None = field(default=None, repr=False)
    """The key, which no message may contain."""
    max_concurrency: int = 4
    max_retries: int = 2
    first_wait_seconds: float = 0.5
    max_wait_seconds: float = 20
    """If a server asks to wait longer, there is no retry."""


class Endpoint:
    """A model's server, called in its wire format."""

    def __init__(
        self,
        client: ModelHttpClient,
        wire: WireFormat,
        options: EndpointOptions,
        metrics: Metrics,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._wire = wire
        self._options = options
        self._metrics = metrics
        self._sleep = sleep
        self._dialect = EndpointDialect()
        self._places = FairQueue(options.max_concurrency)

    @property
    def title(self) -> str:
        """Its name in error messages."""
        return self._options.title

    async def ask(self, call: WireCall, budget: Budget) -> WireAnswer:
        """Return the answer to a call.

        Raises:
            ContextTooLong: the prompt is longer than the model's context.
            FormatRefused: the server does not support this kind of request.
            BudgetExceeded: the budget is used up.
            ModelFailed: there is no answer for another reason.
        """
        async with budget.limiting_time():
            answer = await self._ask_with_retries(call, budget)
        if answer.tokens is None:
            first = call.repair.answer if call.repair is not None else ""
            chars = sum(map(len, (call.system, call.user, first, answer.text)))
            budget.tokens += chars // _CHARS_PER_TOKEN
        else:
            budget.tokens += answer.tokens.sent + answer.tokens.received
            self._metrics.model_tokens.labels("sent").inc(answer.tokens.sent)
            self._metrics.model_tokens.labels("received").inc(answer.tokens.received)
        if answer.refusal is not None:
            raise ModelFailed(
                f"{self.title} would not answer: {' '.join(answer.refusal.split())[:200]}"
            )
        return answer

    async def _ask_with_retries(self, call: WireCall, budget: Budget) -> WireAnswer:
        retries = 0
        while True:
            budget.take_call()
            dialect = self._dialect
            requester = Requester(caller=budget.caller)
            body = json.dumps(self._wire.body(call, dialect)).encode()
            async with self._places.hold(requester):
                started = time.monotonic()
                outcome: WireAnswer | _Failure | None = None
                try:
                    outcome = await self._post(body, dialect)
                finally:
                    kind = "ok" if isinstance(outcome, WireAnswer) else "failed"
                    seconds = self._metrics.model_seconds.labels(kind)
                    seconds.observe(time.monotonic() - started)
            if isinstance(outcome, WireAnswer):
                return outcome
            if outcome.dialect is not None:
                # Not counted as a retry: the next request differs. A dialect changes at most twice.
                self._dialect = self._dialect.joined(outcome.dialect)
                continue
            options, wait = self._options, outcome.retry_after_seconds
            if wait is None:
                wait = min(options.first_wait_seconds * 2.0**retries, options.max_wait_seconds)
            is_last = not outcome.is_retryable or retries >= options.max_retries
            if is_last or wait > options.max_wait_seconds:
                error = outcome.error
                # Another response format is tried after this one: no problem yet.
                log = _log.info if isinstance(error, FormatRefused) else _log.warning
                log("the language model failed", address=options.address, reason=error.message)
                raise error
            retries += 1
            await self._sleep(wait)

    async def _post(self, body: bytes, dialect: EndpointDialect) -> "WireAnswer | _Failure":
        options = self._options
        try:
            headers = {**_HEADERS, **self._wire.headers}
            response = await self._client.post(self._wire.url, body, headers)
        except CinderError as error:
            failed = ModelFailed(
                f"{self.title} gave no answer: {error.message.rstrip('.')}. Check that it runs and "
                f"that {SETTING} is its address; `cinder doctor` and the log tell which that is"
            )
            failed.__cause__ = error
            return _Failure(failed, is_retryable=isinstance(error, ConnectionFailed))
        except asyncio.CancelledError:
            _log.info("the call to the language model was cancelled", address=options.address)
            raise
        try:
            data: Json = json.loads(response.body)
        except (ValueError, RecursionError):
            data = None
        if refusal := find_refusal(response, data):
            after = read_retry_after(response.headers.get("retry-after", ""), datetime.now(UTC))
            return _Failure(
                refusal.to_error(self.title, options.api_key, options.address),
                is_retryable=refusal.is_retryable,
                retry_after_seconds=after,
                dialect=refusal.adapt(dialect),
            )
        problem = "sent an answer that is too long or broke off; try again later"
        if not response.is_cut:
            try:
                return self._wire.read(data)
            except ValueError as error:
                hint = f"check llm.protocol and {SETTING}"
                problem = f"answered what cannot be understood ({error}); {hint}"
        return _Failure(ModelFailed(f"{self.title} {problem}"))


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed call, and how to try again."""

    error: ModelFailed
    is_retryable: bool = False
    retry_after_seconds: float | None = None
    dialect: EndpointDialect | None = None
    """The dialect that the server asks for."""
