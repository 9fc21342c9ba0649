"""The messages about the fields of a schema: see `cinder.extract.wire`."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from cinder.extract.wire import MalformedMessage, Message
from cinder.model.document import Json
from cinder.model.extracted_data import (
    Conflict,
    Evidence,
    ExtractedData,
    FieldValue,
    Grounding,
    Method,
    Path,
    QuotedText,
)

FIELDS = "fields"


def fields_job(
    text: str | None,
    markdown: str | None,
    *,
    content_type: str,
    url: str,
    schema: Mapping[str, Json],
) -> Message:
    """Ask what a saved page holds for the fields of a schema."""
    header: dict[str, Json] = {
        "content_type": content_type,
        "url": url,
        "has_text": text is not None,
        "has_markdown": markdown is not None,
    }
    return Message(FIELDS, header, (_bytes(text), _bytes(markdown), json.dumps(schema).encode()))


def fields_answer(extracted: ExtractedData) -> Message:
    """Carry extracted data back."""
    return Message("fields", {}, (json.dumps(asdict(extracted)).encode(),))


def read_fields(message: Message) -> ExtractedData:
    """Return the extracted data that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    try:
        said = _table(json.loads(message.parts[0]))
        return ExtractedData(
            data=said["data"],
            values=read_values(said["values"]),
            missing=tuple(str(each) for each in _list(said["missing"])),
            conflicts=tuple(_read_conflict(each) for each in _list(said["conflicts"])),
            warnings=tuple(str(each) for each in _list(said["warnings"])),
        )
    except (IndexError, KeyError, TypeError, ValueError, RecursionError) as exc:
        raise MalformedMessage("The extracted data cannot be read") from exc


def read_values(said: Json) -> tuple[FieldValue, ...]:
    """Return the values that a message has as JSON.

    Raises:
        KeyError, TypeError, ValueError: they have not the shape of some.
    """
    return tuple(_read_value(each) for each in _list(said))


def _read_conflict(said: Json) -> Conflict:
    table = _table(said)
    return Conflict(
        path=_read_path(table["path"]), kept=table["kept"], other=_read_value(table["other"])
    )


def _read_value(said: Json) -> FieldValue:
    table = _table(said)
    return FieldValue(
        path=_read_path(table["path"]),
        value=table["value"],
        evidence=tuple(_read_evidence(each) for each in _list(table["evidence"])),
        score=float(str(table["score"])),
    )


def _read_evidence(said: Json) -> Evidence:
    table = _table(said)
    text = table["text"]
    return Evidence(
        method=Method(str(table["method"])),
        quote=str(table["quote"]),
        grounding=Grounding(str(table["grounding"])),
        url=str(table["url"]),
        label=str(table["label"]),
        text=None if text is None else QuotedText(str(text)),
        start=_place(table["start"]),
        end=_place(table["end"]),
        normalization=str(table["normalization"]),
    )


def _read_path(said: Json) -> Path:
    return tuple(part if isinstance(part, int) else str(part) for part in _list(said))


def _place(said: Json) -> int | None:
    if not isinstance(said, int | None):
        raise TypeError("number expected")
    return said


def _table(said: Json) -> dict[str, Json]:
    if not isinstance(said, dict):
        raise TypeError("table expected")
    return said


def _list(said: Json) -> list[Json]:
    if not isinstance(said, list):
        raise TypeError("list expected")
    return said


def _bytes(text: str | None) -> bytes:
    return (text or "").encode("utf-8", "replace")
