"""Wire formats: one call to a model, as cinder means it, and who turns it into HTTP."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from cinder.llm.base import FinishReason, TokenCounts
from cinder.model.document import Json

ANSWER_NAME = "answer"
"""What the wanted JSON is called where a format wants a name for it."""

_COMMON_LIMIT = "max_tokens"


class Rung(StrEnum):
    """The ways to ask for JSON, the surest first."""

    JSON_SCHEMA = "json_schema"
    """The server lets the model write only what matches the schema."""
    JSON_OBJECT = "json_object"
    """The server sees to it that it is JSON; the schema is advice."""
    PROMPT = "prompt"
    """The model is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedJson:
    """The JSON that a call asks for."""

    rung: Rung
    strict: Mapping[str, Json]
    """The schema for servers that hold the model to it."""
    shown: Mapping[str, Json]
    """The schema for the model to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A second round: what the model said, and what is wrong with it."""

    said: str
    complaint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCall:
    """One call to a model."""

    user: str
    system: str
    max_output_tokens: int
    wanted: WantedJson | None = None
    repair: Repair | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireAnswer:
    """What came of a call."""

    text: str
    tokens: TokenCounts | None
    finish_reason: FinishReason
    model: str | None
    refusal: str | None = None
    """Why the model would not answer, if so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What endpoints of the same format take differently; found out by their refusals."""

    sends_temperature: bool = True
    limit_name: str = _COMMON_LIMIT

    def joined(self, other: "Dialect") -> "Dialect":
        """Return what both have been found to want."""
        return Dialect(
            sends_temperature=self.sends_temperature and other.sends_temperature,
            limit_name=other.limit_name if self.limit_name == _COMMON_LIMIT else self.limit_name,
        )


class WireFormat(Protocol):
    """Turns calls into HTTP and back."""

    @property
    def url(self) -> str:
        """Where calls are posted."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What is sent with each; the key is among them."""
        ...

    def body(self, call: WireCall, dialect: Dialect) -> dict[str, Json]:
        """Return what is posted."""
        ...

    def read(self, body: Json) -> WireAnswer:
        """Return what an answer says.

        Raises:
            ValueError: it is none of this format.
        """
        ...


def messages_of(call: WireCall) -> list[Json]:
    """Return the turns of a call, as both formats write them."""
    turns: list[Json] = [{"role": "user", "content": call.user}]
    if call.repair is not None:
        # Servers refuse a turn without words.
        said = call.repair.said.strip() or "(nothing)"
        turns.append({"role": "assistant", "content": said})
        turns.append({"role": "user", "content": call.repair.complaint})
    return turns


def schema_words(wanted: WantedJson) -> str:
    """Return the sentences that ask a model for JSON of a schema."""
    schema = json.dumps(wanted.shown, ensure_ascii=False, separators=(",", ":"))
    return (
        "Answer with one JSON object and nothing else: no explanation, no code fence. Where a "
        f"value is not known, write null. The object must match this JSON Schema:\n{schema}"
    )
