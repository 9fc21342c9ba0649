"""Sandbox messages about text: ranking passages and comparing two texts."""

import json
from dataclasses import asdict

from cinder.models.document import Json
from cinder.models.extraction import PassageQuery, QueriedField, RankedPassage, ValueSign
from cinder.models.saved import BlockChange, BlockChangeKind, Comparison, TextDiff
from cinder.sandbox.messages import MalformedMessage, Message
from cinder.text.diff import compare_texts

PASSAGES = "passages"


def passages_job(markdown: str, query: PassageQuery, limit: int) -> Message:
    """Ask for the passages of a text that a question is about."""
    asked = json.dumps(asdict(query)).encode()
    return Message(PASSAGES, {"limit": limit}, (markdown.encode("utf-8", "replace"), asked))


def answer_passages(job: Message) -> Message:
    """Rank the passages of the text that a job carries."""
    # Only children need what ranks.
    from cinder.extraction.passage_ranking import rank_passages  # noqa: PLC0415

    markdown, asked = (part.decode() for part in job.parts)
    ranked = rank_passages(markdown, _read_query(json.loads(asked)), int(str(job.header["limit"])))
    return Message("passages", {}, (json.dumps([asdict(each) for each in ranked]).encode(),))


def read_passages(message: Message) -> tuple[RankedPassage, ...]:
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


def _read_field(said: dict[str, Json]) -> QueriedField:
    sign = said["sign"]
    return QueriedField(
        name=str(said["name"]),
        description=str(said["description"]),
        sign=None if sign is None else ValueSign(str(sign)),
    )


def _read_passage(said: Json) -> RankedPassage:
    table = _table(said)
    return RankedPassage(
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


COMPARE = "compare"


def compare_job(before: str, after: str) -> Message:
    """Ask how two texts differ."""
    return Message(COMPARE, {}, (_bytes(before), _bytes(after)))


def answer_comparison(job: Message) -> Message:
    """Compare the texts that a job carries, and carry back what that showed."""
    before, after = (part.decode() for part in job.parts)
    return comparison_answer(compare_texts(before, after))


def comparison_answer(comparison: Comparison) -> Message:
    """Carry back what a comparison showed."""
    diff = comparison.diff
    header: dict[str, Json] = {"is_same": comparison.is_same}
    if diff is None:
        return Message("comparison", header)
    header |= {"is_cut": diff.is_cut, "blocks": [asdict(change) for change in diff.blocks]}
    return Message("comparison", header, (_bytes(diff.unified),))


def read_comparison(message: Message) -> Comparison:
    """Return the comparison that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    header = message.header
    try:
        if not message.parts:
            return Comparison(is_same=header["is_same"] is True)
        blocks = header["blocks"]
        if not isinstance(blocks, list):
            raise TypeError("list expected")
        diff = TextDiff(
            unified=message.parts[0].decode(),
            blocks=tuple(_read_change(item) for item in blocks),
            is_cut=header["is_cut"] is True,
        )
        return Comparison(is_same=header["is_same"] is True, diff=diff)
    except (KeyError, TypeError, ValueError) as exc:
        raise MalformedMessage("The comparison cannot be read") from exc


def _read_change(value: Json) -> BlockChange:
    if not isinstance(value, dict):
        raise TypeError("table expected")
    before, after = value["before"], value["after"]
    if not isinstance(before, str | None) or not isinstance(after, str | None):
        raise TypeError("text expected")
    return BlockChange(
        kind=BlockChangeKind(str(value["kind"])),
        section=str(value["section"]),
        before=before,
        after=after,
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
