"""The messages about ranking passages: see `cinder.extract.wire`."""

import json
from dataclasses import asdict

from cinder.extract.wire import MalformedMessage, Message
from cinder.model.document import Json
from cinder.model.passage import AskedField, Passage, PassageQuery, Sign

PASSAGES = "passages"


def passages_job(markdown: str, query: PassageQuery, limit: int) -> Message:
    """Ask for the passages of a text that a question is about."""
    asked = json.dumps(asdict(query)).encode()
    return Message(PASSAGES, {"limit": limit}, (markdown.encode("utf-8", "replace"), asked))


def answer_passages(job: Message) -> Message:
    """Rank the passages of the text that a job carries."""
    # Only children need what ranks.
    from cinder.extract.passages.ranking import rank_passages  # noqa: PLC0415

    markdown, asked = (part.decode() for part in job.parts)
    ranked = rank_passages(markdown, _read_query(json.loads(asked)), int(str(job.header["limit"])))
    return Message("passages", {}, (json.dumps([asdict(each) for each in ranked]).encode(),))


def read_passages(message: Message) -> tuple[Passage, ...]:
    """Return the passages that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    try:
        return tuple(_read_passage(each) for each in _list(json.loads(message.parts[0])))
    except (IndexError, KeyError, TypeError, ValueError) as exc:
        raise MalformedMessage("The ranked passages cannot be read") from exc


def _read_query(said: Json) -> PassageQuery:
    table = _table(said)
    return PassageQuery(
        prompt=str(table["prompt"]),
        fields=tuple(_read_field(_table(each)) for each in _list(table["fields"])),
    )


def _read_field(said: dict[str, Json]) -> AskedField:
    sign = said["sign"]
    return AskedField(
        name=str(said["name"]),
        description=str(said["description"]),
        sign=None if sign is None else Sign(str(sign)),
    )


def _read_passage(said: Json) -> Passage:
    table = _table(said)
    return Passage(
        id=str(table["id"]),
        heading=str(table["heading"]),
        text=str(table["text"]),
        start=int(str(table["start"])),
        end=int(str(table["end"])),
        score=float(str(table["score"])),
        context=str(table["context"]),
    )


def _table(said: Json) -> dict[str, Json]:
    if not isinstance(said, dict):
        raise TypeError("table expected")
    return said


def _list(said: Json) -> list[Json]:
    if not isinstance(said, list):
        raise TypeError("list expected")
    return said
