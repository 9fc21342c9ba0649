"""The messages about comparing two texts: see `cinder.extract.wire`."""

from dataclasses import asdict

from cinder.extract.changes.text_diff import compare_texts
from cinder.extract.wire import MalformedMessage, Message
from cinder.model.change import BlockChange, BlockChangeKind, Comparison, TextDiff
from cinder.model.document import Json

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
