"""The protocol of a provider's wire format: calls, answers, URLs and JSON in text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Never, Protocol

import can_ada

from cinder.llm.base import FinishReason, TokenCounts
from cinder.models.document import Json
from cinder.models.url import parse_web_url

ANSWER_NAME = "answer"
"""What the wanted JSON is called where a format wants a name for it."""

_COMMON_LIMIT = "max_tokens"


class ResponseFormat(StrEnum):
    """The ways to ask for JSON, the surest first."""

    JSON_SCHEMA = "json_schema"
    """The server lets the model write only what matches the schema."""
    JSON_OBJECT = "json_object"
    """The server sees to it that it is JSON; the schema is advice."""
    PROMPT = "prompt"
    """The model is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedJson:
    """The JSON that a call asks for."""

    rung: ResponseFormat
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
    wanted: RequestedJson | None = None
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
class EndpointDialect:
    """What endpoints of the same format take differently; found out by their refusals."""

    sends_temperature: bool = True
    limit_name: str = _COMMON_LIMIT

    def joined(self, other: "EndpointDialect") -> "EndpointDialect":
        """Return what both have been found to want."""
        return EndpointDialect(
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

    def body(self, call: WireCall, dialect: EndpointDialect) -> dict[str, Json]:
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


def schema_instructions(wanted: RequestedJson) -> str:
    """Return the sentences that ask a model for JSON of a schema."""
    schema = json.dumps(wanted.shown, ensure_ascii=False, separators=(",", ":"))
    return (
        "Answer with one JSON object and nothing else: no explanation, no code fence. Where a "
        f"value is not known, write null. The object must match this JSON Schema:\n{schema}"
    )


def parse_base_url(text: str) -> str:
    """Return the canonical URL that paths can be added to; it ends without a slash.

    Raises:
        ValueError: it is no web URL, or has parameters.
    """
    parsed = can_ada.parse(parse_web_url(text))
    if parsed.search or parsed.hash:
        raise ValueError("It must have no parameters: nothing after ? or #")
    return parsed.href.rstrip("/")


def path_of(base_url: str) -> str:
    """Return the path of a base URL; blank where there is none."""
    return can_ada.parse(base_url).pathname.rstrip("/")


_MAX_COUNT = 10**12
_END_OF_THOUGHT = "</think>"
_FENCE = "```"


def find_json(text: str) -> Json:
    """Return the JSON of an answer, which may have thoughts, a fence or sentences round it.

    Raises:
        ValueError: there is none, or it cannot be kept.
    """
    text = text.rpartition(_END_OF_THOUGHT)[2].strip()
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    try:
        value = _decode(decoder, text)
        # Half of a surrogate pair can be written as an escape, and then never be saved.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it has half a character in it") from None
    return value


def _decode(decoder: json.JSONDecoder, text: str) -> Json:
    try:
        whole: Json = decoder.decode(text)
    except ValueError as error:
        problem = error
    else:
        return whole
    # An object further on may stand inside one that is broken, and would be taken for the whole.
    for start in (text.find("{", text.find(_FENCE)), text.find("{")):
        try:
            found: Json = decoder.raw_decode(text, start)[0] if start >= 0 else None
        except ValueError:
            continue
        if found is not None:
            return found
    raise ValueError(f"it is not JSON: {problem}")


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no value in JSON")


def count_at(value: Json, name: str) -> int | None:
    """Return the count of a name in an object; None where there is no sensible one."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _MAX_COUNT:
        return None
    return found
