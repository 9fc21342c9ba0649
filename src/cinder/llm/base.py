"""The protocol of a language model, the budget of a request, and how a model fails.

ModelFailed               EXTRACTION_FAILED  the model is down, refuses, or its answer is unreadable
├── ContextTooLong        the prompt is longer than the model's context
├── ModelLengthExceeded   the answer reached the limit of output tokens
├── ModelAnswerInvalid    neither the answer nor its correction matches the schema
├── BudgetExceeded        the request's budget is used up
└── FormatRefused         the endpoint does not support this kind of request
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
    """The limits of one request."""

    calls: int
    """Calls to the provider, including failed ones."""
    tokens: int
    """Sent and received. The call that exceeds the limit completes; no other call follows."""
    seconds: float


class Budget:
    """Counts what one request has used; its time starts when the budget is created."""

    def __init__(
        self,
        limits: BudgetLimits,
        clock: Callable[[], float] = time.monotonic,
        *,
        caller: str = OWNER,
    ) -> None:
        self.caller = caller
        """The caller of the request."""
        self._limits = limits
        self._clock = clock
        self._until = clock() + limits.seconds
        self.calls = 0
        self.tokens = 0

    @property
    def seconds_left(self) -> float:
        """The remaining time of the request."""
        return max(0.0, self._until - self._clock())

    def take_call(self) -> None:
        """Count one call.

        Raises:
            BudgetExceeded: the budget is used up.
        """
        if self.calls >= self._limits.calls:
            _refuse(f"{self.calls} of {self._limits.calls} calls", "calls")
        if self.tokens >= self._limits.tokens:
            _refuse(f"{self.tokens} of {self._limits.tokens} tokens", "tokens")
        if not self.seconds_left:
            _refuse(f"{self._limits.seconds:g} seconds", "seconds")
        self.calls += 1

    @asynccontextmanager
    async def limiting_time(self) -> AsyncIterator[None]:
        """Cancel the body when the time is used up.

        Raises:
            BudgetExceeded: the time is used up.
        """
        try:
            async with asyncio.timeout(self.seconds_left) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            _refuse(f"{self._limits.seconds:g} seconds", "seconds")


def _refuse(spent: str, kind: str) -> Never:
    raise BudgetExceeded(
        f"The request's budget for the language model is spent: {spent}. Ask about less, or raise "
        f"llm.max-{kind} (CINDER_LLM__MAX_{kind.upper()})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A prompt for a model."""

    user: str
    system: str = ""
    schema: Mapping[str, Json] | None = None
    """The JSON Schema of the answer; None for plain text."""
    max_output_tokens: int | None = None
    """None for the limit of the settings."""


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
    """A model's answer."""

    text: str
    """The answer as received."""
    value: Json = None
    """The JSON of the answer, if a schema was given. A value that the model does not know is null
    or absent, even if the schema requires it."""
    tokens: TokenCounts | None
    """The tokens of all calls for the answer; None if the provider did not count them."""
    finish_reason: FinishReason
    """Always `stop` if a schema was given: a cut answer is an error then."""
    model: str
    """The name that the provider gives the model."""
    milliseconds: int
    is_repaired: bool = False
    """Whether the first answer did not match the schema, and this is its correction."""


class LanguageModel(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """The model's name in the settings."""
        ...

    async def complete(self, prompt: ModelRequest, budget: Budget) -> ModelAnswer:
        """Return the model's answer, which matches the schema if there is one.

        Raises:
            InvalidRequest: the schema cannot be used; the message says where.
            ContextTooLong: the prompt is longer than the model's context: send less.
            ModelLengthExceeded: the answer reached its limit: ask for less.
            ModelAnswerInvalid: neither the answer nor its correction matches the schema.
            BudgetExceeded: the budget is used up.
            ModelFailed: the base class of those above but the first; any other failure.
        """
        ...


class ModelHttpClient(Protocol):
    """Posts to the configured server, through egress."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Return the response, of any status; raise `CinderError` if there is none."""
        ...
