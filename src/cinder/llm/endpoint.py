"""An endpoint: one call to a model's server, tried again where that may help."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog
from structlog.typing import FilteringBoundLogger

from cinder import __version__
from cinder.errors import CinderError, ConnectionFailed
from cinder.llm.base import HttpClient
from cinder.llm.budget import Budget
from cinder.llm.failures import FormatRefused, ModelFailed
from cinder.llm.refusals import SETTING, Refusal, find_refusal
from cinder.llm.wire import Dialect, WireAnswer, WireCall, WireFormat
from cinder.metrics import Metrics
from cinder.model.document import Json
from cinder.model.http import HttpAnswer, read_retry_after
from cinder.shares import Claimant, FairPlaces

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
        client: HttpClient,
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
        self._dialect = Dialect()
        self._places = FairPlaces(options.max_concurrency)

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
            outcome = await self._try(call, dialect, Claimant(caller=budget.caller))
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
        self, call: WireCall, dialect: Dialect, who: Claimant
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

    async def _post(self, body: bytes, dialect: Dialect) -> "WireAnswer | _Failure":
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

    def _understand(self, answer: HttpAnswer, read: Json) -> "WireAnswer | _Failure":
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

    def _refused(self, answer: HttpAnswer, refusal: Refusal, dialect: Dialect) -> "_Failure":
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
    wanted_dialect: Dialect | None = None


def _read_json(answer: HttpAnswer) -> Json:
    try:
        read: Json = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return read
