"""The protocol of a language model, the budget of a request, and how a model fails.

ModelFailed               EXTRACTION_FAILED  it is down, refuses, or is not understood
├── ContextTooLong        the prompt is longer than the model reads
├── ModelLengthExceeded   the answer is longer than it may be
├── ModelAnswerInvalid    the answer does not match the schema, nor did a second one
├── BudgetSpent           nothing is left of the request's budget
└── FormatRefused         the endpoint takes no request of this shape
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Never, Protocol

from cinder.errors import CinderError, ErrorCode
from cinder.models.document import Json
from cinder.models.http import HttpResponse
from cinder.models.request import OWNER


class ModelFailed(CinderError):
    """The language model gave no answer."""

    code = ErrorCode.EXTRACTION_FAILED


class ContextTooLong(ModelFailed):
    """The prompt is longer than the language model can read."""


class ModelLengthExceeded(ModelFailed):
    """The language model's answer is longer than it may be."""


class ModelAnswerInvalid(ModelFailed):
    """The language model's answer does not match the schema."""


class BudgetExceeded(ModelFailed):
    """The request's budget for the language model is spent."""


class FormatRefused(ModelFailed):
    """The language model's server takes no request of this shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """How much one request may take."""

    calls: int
    """Tries at the provider, those in vain included."""
    tokens: int
    """Sent and received. The call that goes beyond is paid for; there is none after it."""
    seconds: float


class Budget:
    """What one request has taken so far; its time begins when it is made."""

    def __init__(
        self,
        limits: BudgetLimits,
        clock: Callable[[], float] = time.monotonic,
        *,
        caller: str = OWNER,
    ) -> None:
        self.caller = caller
        """Whose request it is."""
        self._limits = limits
        self._clock = clock
        self._until = clock() + limits.seconds
        self.calls = 0
        self.tokens = 0

    @property
    def seconds_left(self) -> float:
        """How long the request may still take."""
        return max(0.0, self._until - self._clock())

    def take_call(self) -> None:
        """Pay for one call.

        Raises:
            BudgetSpent: it cannot be paid for.
        """
        if self.calls >= self._limits.calls:
            _refuse(f"{self.calls} of {self._limits.calls} calls", "calls")
        if self.tokens >= self._limits.tokens:
            _refuse(f"{self.tokens} of {self._limits.tokens} tokens", "tokens")
        if not self.seconds_left:
            self._refuse_time()
        self.calls += 1

    def note_tokens(self, count: int) -> None:
        """Remember what a call has taken."""
        self.tokens += count

    @asynccontextmanager
    async def limiting_time(self) -> AsyncIterator[None]:
        """End what is done inside when the time is up.

        Raises:
            BudgetSpent: it is.
        """
        try:
            async with asyncio.timeout(self.seconds_left) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            self._refuse_time()

    def _refuse_time(self) -> Never:
        _refuse(f"{self._limits.seconds:g} seconds", "seconds")


def _refuse(spent: str, kind: str) -> Never:
    raise BudgetExceeded(
        f"The request's budget for the language model is spent: {spent}. Ask about less, or raise "
        f"llm.max-{kind} (CINDER_LLM__MAX_{kind.upper()})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a model is asked."""

    user: str
    system: str = ""
    schema: Mapping[str, Json] | None = None
    """What the answer must be like, as JSON Schema; None for plain text."""
    max_output_tokens: int | None = None
    """None for as many as the settings allow."""


class FinishReason(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The tokens of a call, as the provider counts them."""

    sent: int = 0
    received: int = 0

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        return TokenCounts(self.sent + other.sent, self.received + other.received)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What a model answered."""

    text: str
    """As it came."""
    value: Json = None
    """What it says, where a schema was given. A value that the model does not know is null or
    absent, even where the schema asks for it."""
    tokens: TokenCounts | None
    """Those of all calls that the answer took; None where the provider did not count."""
    finish_reason: FinishReason
    """Always `stop` where a schema was given: what is cut is no answer then."""
    model: str
    """The name by which the provider calls it."""
    milliseconds: int
    is_repaired: bool = False
    """Whether the first answer did not match the schema, and this is the second."""


class LanguageModel(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """The model's name in the settings."""
        ...

    async def complete(self, prompt: ModelRequest, budget: Budget) -> ModelAnswer:
        """Return the model's answer, which matches the schema if there is one.

        Raises:
            InvalidRequest: the schema cannot be used; names where.
            ContextTooLong: the prompt is longer than the model reads: send less of it.
            ModelLengthExceeded: the answer is longer than it may be: ask about less.
            ModelAnswerInvalid: it does not match the schema, nor did a second one.
            BudgetSpent: nothing is left of the budget.
            ModelFailed: all of those above but the first, and whatever else gave no answer.
        """
        ...


class ModelHttpClient(Protocol):
    """Posts to the server that the owner chose, through egress."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Return the answer, whatever its status; raise `CinderError` where none came."""
        ...
