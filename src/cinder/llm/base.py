"""The protocol of a language model: what it is asked, what it answers, and its door out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from cinder.llm.budget import Budget
from cinder.model.document import Json
from cinder.model.http import HttpAnswer


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


class HttpClient(Protocol):
    """Posts to the server that the owner chose, through egress."""

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer, whatever its status; raise `CinderError` where none came."""
        ...
