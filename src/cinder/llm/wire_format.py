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
"""The name of the requested JSON in formats that require one."""

_COMMON_LIMIT = "max_tokens"


class ResponseFormat(StrEnum):
    """The ways to ask for JSON, the most reliable first."""

    JSON_SCHEMA = "json_schema"
    """The server enforces the schema."""
    JSON_OBJECT = "json_object"
    """The server enforces JSON; the schema is in the prompt."""
    PROMPT = "prompt"
    """The prompt asks for JSON, and nothing enforces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedJson:
    """The JSON that a call asks for."""

    format: ResponseFormat
    strict: Mapping[str, Json]
    """The schema for servers to enforce."""
    shown: Mapping[str, Json]
    """The schema for the model to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A second turn: the model's first answer, and its problems."""

    answer: str
    complaint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCall:
    """One call to a model."""

    user: str
    system: str
    max_output_tokens: int
    requested: RequestedJson | None = None
    repair: Repair | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireAnswer:
    """The answer to a call."""

    text: str
    tokens: TokenCounts | None
    finish_reason: FinishReason
    model: str | None
    refusal: str | None = None
    """Why the model declined, if it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointDialect:
    """The parameters in which endpoints of one format differ; learned from their refusals."""

    sends_temperature: bool = True
    limit_name: str = _COMMON_LIMIT

    def joined(self, other: "EndpointDialect") -> "EndpointDialect":
        """Return the dialect with the findings of both."""
        return EndpointDialect(
            sends_temperature=self.sends_temperature and other.sends_temperature,
            limit_name=other.limit_name if self.limit_name == _COMMON_LIMIT else self.limit_name,
        )


class WireFormat(Protocol):
    """Translates calls into HTTP bodies, and responses into answers."""

    @property
    def url(self) -> str:
        """The URL that calls are posted to."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of each call, including the key."""
        ...

    def body(self, call: WireCall, dialect: EndpointDialect) -> dict[str, Json]:
        """Return the body to post."""
        ...

    def read(self, body: Json) -> WireAnswer:
        """Return the answer in a response.

        Raises:
            ValueError: the response does not have this format.
        """
        ...


def messages_of(call: WireCall) -> list[Json]:
    """Return the turns of a call, as both formats write them."""
    turns: list[Json] = [{"role": "user", "content": call.user}]
    if call.repair is not None:
        # Servers refuse an empty turn.
        answer = call.repair.answer.strip() or "(nothing)"
        turns.append({"role": "assistant", "content": answer})
        turns.append({"role": "user", "content": call.repair.complaint})
    return turns


def schema_instructions(requested: RequestedJson) -> str:
    """Return the sentences that ask a model for JSON of a schema."""
    schema = json.dumps(requested.shown, ensure_ascii=False, separators=(",", ":"))
    return (
        "Answer with one JSON object and nothing else: no explanation, no code fence. Where a "
        f"value is not known, write null. The object must match this JSON Schema:\n{schema}"
    )


def parse_base_url(text: str) -> str:
    """Return the canonical URL that paths can be appended to, without a slash at its end.

    Raises:
        ValueError: it is no web URL, or has a query or a fragment.
    """
    parsed = can_ada.parse(parse_web_url(text))
    if parsed.search or parsed.hash:
        raise ValueError("It must have no parameters: nothing after ? or #")
    return parsed.href.rstrip("/")


def path_of(base_url: str) -> str:
    """Return the path of a base URL; empty if there is none."""
    return can_ada.parse(base_url).pathname.rstrip("/")


_MAX_COUNT = 10**12
_END_OF_THOUGHT = "</think>"
_FENCE = "```"


def find_json(text: str) -> Json:
    """Return the JSON in an answer, which may be surrounded by reasoning, a fence or sentences.

    Raises:
        ValueError: there is none, or it cannot be stored.
    """
    text = text.rpartition(_END_OF_THOUGHT)[2].strip()
    try:
        value = _decode(text)
        # Half of a surrogate pair can be written as an escape, but not stored as UTF-8.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it has half a character in it") from None
    return value


def _decode(text: str) -> Json:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    try:
        whole: Json = decoder.decode(text)
    except ValueError as error:
        problem = error
    else:
        return whole
    # Later objects are not tried: they may be parts of a broken one.
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
    """Return the count of a name in an object; None if it is missing or implausible."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _MAX_COUNT:
        return None
    return found
