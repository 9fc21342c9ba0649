"""One call to a model's server: retries, and what its error responses mean."""

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

_EVER_TOO_LONG = ("request too large", "request_too_large")
_TOO_LONG = (
    *_EVER_TOO_LONG,
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
_UNSHAPED = (
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
    """An answer that is none."""

    status: int
    said: str
    """What the server says of it, as far as it was read."""

    @property
    def is_too_long(self) -> bool:
        """Whether the prompt is longer than the model reads."""
        if self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return True
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            # Of tokens too it tells how many a minute may have; but some requests never fit.
            return self._says(_EVER_TOO_LONG)
        return self.status >= HTTPStatus.BAD_REQUEST and self._says(_TOO_LONG)

    @property
    def is_retryable(self) -> bool:
        """Whether another try may go better."""
        return self.status in _RETRIED and not self.is_too_long and not self._says(_UNPAID)

    def adapt(self, dialect: EndpointDialect) -> EndpointDialect | None:
        """Return the dialect that the server asks for instead; None where it asks for none."""
        if self.status not in _UNSHAPED or self.is_too_long:
            return None
        limit = "max_completion_tokens"
        if dialect.limit_name != limit and self._says((limit,)):
            return replace(dialect, limit_name=limit)
        if dialect.sends_temperature and self._says(("temperature",)):
            return replace(dialect, sends_temperature=False)
        return None

    def to_error(self, title: str, key: str | None, address: str) -> ModelFailed:
        """Return what is wrong and what to do; neither key nor address stands anywhere in it."""
        if self.is_too_long:
            return ContextTooLong(
                f"{title} cannot read a prompt this long (it answered {self.status}). Send less, "
                "or choose a model with a larger context"
            )
        kind = FormatRefused if self.status in _UNSHAPED else ModelFailed
        return kind(f"{title} answered {self.status}: {self._meaning(key, address)}")

    def _meaning(self, key: str | None, address: str) -> str:
        if self._says(_UNPAID):
            return "the account has no credit left; top it up with the provider"
        if self.status in _REFUSED:
            return f"it refuses the key; check {_KEY}"
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return "it is asked too often; ask less often, or lower llm.max-concurrency"
        if self.status == HTTPStatus.NOT_FOUND:
            return f"there is no such model or no such path; check {_MODEL} and {SETTING}"
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "it has troubles of its own; try again later"
        if HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST:
            return f"it redirects elsewhere; check {SETTING}"
        return f"it refuses the request; check {_MODEL}. It says: {self._shown(key, address)}"

    def _says(self, words: tuple[str, ...]) -> bool:
        said = self.said.lower()
        return any(word in said for word in words)

    def _shown(self, key: str | None, address: str) -> str:
        said = hide_address(self.said, address)
        said = said.replace(key, "…") if key else said
        return " ".join(said.split())[:_MAX_SHOWN_CHARS] or "nothing"


def find_refusal(answer: HttpResponse, body: Json) -> Refusal | None:
    """Return what is wrong with an answer, if anything.

    Some gateways send errors with the status 200, and the true one in the body.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    if answer.status == HTTPStatus.OK and error is None:
        return None
    status = answer.status
    if status == HTTPStatus.OK:
        told = error.get("code") if isinstance(error, Mapping) else None
        is_status = isinstance(told, int) and HTTPStatus.BAD_REQUEST <= told < 600
        status = told if isinstance(told, int) and is_status else HTTPStatus.BAD_GATEWAY
    return Refusal(status=status, said=_words(answer, error))


def _words(answer: HttpResponse, error: Json) -> str:
    if isinstance(error, Mapping):
        parts = (error.get(name) for name in ("message", "type", "code", "param"))
        return " · ".join(str(part) for part in parts if part)[:_MAX_READ_CHARS]
    if error is not None:
        return json.dumps(error)[:_MAX_READ_CHARS]
    return answer.body[:_MAX_READ_CHARS].decode(errors="replace")


_HEADERS = {
    "User-Agent": f"cinder/{__version__}",
    "Accept": "application/json",
    "Content-Type": "application/json",
}
# Fewer than any tokenizer makes of common text: a provider that does not count is not free.
_CHARS_PER_TOKEN = 3

_log: FilteringBoundLogger = structlog.get_logger()

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """Who is asked, and how patiently."""

    title: str
    """How failures name it to whoever asked, such as `The language model 'qwen3'`."""
    address: str
    """Where it is, such as `http://127.0.0.1:11434`: for the log alone, which is the owner's."""
    api_key: str | None = field(default=None, repr=False)
    """What must stand in no message."""
    max_concurrency: int = 4
    max_retries: int = 2
    first_wait_seconds: float = 0.5
    max_wait_seconds: float = 20
    """A server that wants to be left alone for longer is not tried again."""


class Endpoint:
    """A model's server, asked in its wire format."""

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
        """How failures name it."""
        return self._options.title

    async def ask(self, call: WireCall, budget: Budget) -> WireAnswer:
        """Return what comes of a call.

        Raises:
            ContextTooLong: the prompt is longer than the model reads.
            FormatRefused: it takes no request of this shape.
            BudgetSpent: nothing is left of the budget.
            ModelFailed: there is no answer, for another reason.
        """
        async with budget.limiting_time():
            answer = await self._ask_patiently(call, budget)
        self._note(call, answer, budget)
        if answer.refusal is not None:
            raise ModelFailed(
                f"{self.title} would not answer: {' '.join(answer.refusal.split())[:200]}"
            )
        return answer

    async def _ask_patiently(self, call: WireCall, budget: Budget) -> WireAnswer:
        retries = 0
        while True:
            dialect = self._dialect
            budget.take_call()
            outcome = await self._try(call, dialect, Requester(caller=budget.caller))
            if isinstance(outcome, WireAnswer):
                return outcome
            if outcome.wanted_dialect is not None:
                # No retry: the next try is another question. A dialect has but two turns to take.
                self._dialect = self._dialect.joined(outcome.wanted_dialect)
                continue
            wait = self._wait_seconds(outcome, retries)
            if wait is None:
                self._log_failure(outcome.error)
                raise outcome.error
            retries += 1
            await self._sleep(wait)

    async def _try(
        self, call: WireCall, dialect: EndpointDialect, who: Requester
    ) -> "WireAnswer | _Failure":
        body = json.dumps(self._wire.body(call, dialect)).encode()
        async with self._places.hold(who):
            started = time.monotonic()
            outcome: WireAnswer | _Failure | None = None
            try:
                outcome = await self._post(body, dialect)
            finally:
                kind = "ok" if isinstance(outcome, WireAnswer) else "failed"
                self._metrics.observe_model(kind, time.monotonic() - started)
        return outcome

    async def _post(self, body: bytes, dialect: EndpointDialect) -> "WireAnswer | _Failure":
        try:
            answer = await self._client.post(
                self._wire.url, body, {**_HEADERS, **self._wire.headers}
            )
        except CinderError as error:
            return self._without_answer(error)
        except asyncio.CancelledError:
            _log.info("the language model was given up", address=self._options.address)
            raise
        read = _read_json(answer)
        refusal = find_refusal(answer, read)
        if refusal is not None:
            return self._refused(answer, refusal, dialect)
        return self._understand(answer, read)

    def _understand(self, answer: HttpResponse, read: Json) -> "WireAnswer | _Failure":
        if answer.is_cut:
            problem = "sent an answer that is too long or broke off; try again later"
            return _Failure(ModelFailed(f"{self.title} {problem}"))
        try:
            return self._wire.read(read)
        except ValueError as error:
            problem = (
                f"answered what cannot be understood ({error}); check llm.protocol and {SETTING}"
            )
            return _Failure(ModelFailed(f"{self.title} {problem}"))

    def _refused(
        self, answer: HttpResponse, refusal: Refusal, dialect: EndpointDialect
    ) -> "_Failure":
        after = read_retry_after(answer.headers.get("retry-after", ""), datetime.now(UTC))
        return _Failure(
            refusal.to_error(self.title, self._options.api_key, self._options.address),
            is_retryable=refusal.is_retryable,
            retry_after_seconds=after,
            wanted_dialect=refusal.adapt(dialect),
        )

    def _without_answer(self, error: CinderError) -> "_Failure":
        failed = ModelFailed(
            f"{self.title} gave no answer: {error.message.rstrip('.')}. Check that it runs and "
            f"that {SETTING} is its address; `cinder doctor` and the log tell which that is"
        )
        failed.__cause__ = error
        return _Failure(failed, is_retryable=isinstance(error, ConnectionFailed))

    def _log_failure(self, error: ModelFailed) -> None:
        # What takes no request of one shape is asked in another: that is no trouble yet.
        say = _log.info if isinstance(error, FormatRefused) else _log.warning
        say("the language model failed", address=self._options.address, reason=error.message)

    def _wait_seconds(self, failure: "_Failure", retries: int) -> float | None:
        options = self._options
        if not failure.is_retryable or retries >= options.max_retries:
            return None
        if failure.retry_after_seconds is not None:
            wait = failure.retry_after_seconds
            return wait if wait <= options.max_wait_seconds else None
        return min(options.first_wait_seconds * 2.0**retries, options.max_wait_seconds)

    def _note(self, call: WireCall, answer: WireAnswer, budget: Budget) -> None:
        if answer.tokens is None:
            said = call.repair.said if call.repair is not None else ""
            chars = sum(map(len, (call.system, call.user, said, answer.text)))
            budget.note_tokens(chars // _CHARS_PER_TOKEN)
            return
        budget.note_tokens(answer.tokens.sent + answer.tokens.received)
        self._metrics.count_model_tokens(answer.tokens.sent, answer.tokens.received)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A try that came to nothing."""

    error: ModelFailed
    is_retryable: bool = False
    retry_after_seconds: float | None = None
    wanted_dialect: EndpointDialect | None = None


def _read_json(answer: HttpResponse) -> Json:
    try:
        read: Json = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return read
