"""Passages as one text: the best that fit, in the order of the page, each headed by its place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cinder.extract.reading.blocks import Block, BlockKind
from cinder.extract.reading.cutting import find_cut
from cinder.extract.reading.passages import Passage

MAX_PASSAGES = 10

_JOINT = "\n\n"
# Passages so near each other are one; more white space would cost more than a heading of its own.
_GAP_CHARS = 8
_TABLE_HEAD_CHARS = 500
# In less room than this a passage goes without being headed.
_HEADED_CHARS = 100
_FENCE = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True, slots=True)
class ShownPassages:
    """The text of passages, and which they are."""

    text: str
    passages: tuple[Passage, ...]
    count: int
    """How many passages were taken, before neighbours were joined."""
    is_cut: bool = False
    """Whether the only one was too long to be shown whole."""


def show_passages(markdown: str, ranked: Sequence[Passage], max_chars: int) -> ShownPassages:
    """Return the text of the best passages, at most so many characters."""
    taken: list[Passage] = []
    room = max_chars
    for passage in ranked:
        size = len(_show(markdown, passage)) + len(_JOINT)
        if size - len(_JOINT) <= room and len(taken) < MAX_PASSAGES:
            taken.append(passage)
            room -= size
    if ranked and not taken:
        return _show_part(markdown, ranked[0], max_chars)
    joined = _join_neighbours(markdown, sorted(taken, key=lambda passage: passage.start))
    text = _JOINT.join(_show(markdown, passage) for passage in joined)
    return ShownPassages(text, tuple(joined), len(taken))


def _show(markdown: str, passage: Passage) -> str:
    return f"{_head(markdown, passage)}{markdown[passage.start : passage.end].strip()}"


def _head(markdown: str, passage: Passage) -> str:
    """Return what precedes a passage: its place, and the first row of a table it is not in."""
    place = f"[{passage.section}, {passage.start}-{passage.end}]\n"
    if passage.kind is not BlockKind.TABLE or passage.start == passage.block:
        return place
    rows = markdown[passage.block : passage.block + _TABLE_HEAD_CHARS].split("\n", 2)
    return f"{place}{rows[0]}\n{rows[1]}\n" if len(rows) > 2 else place


def _join_neighbours(markdown: str, passages: Sequence[Passage]) -> list[Passage]:
    joined: list[Passage] = []
    for passage in passages:
        last = joined[-1] if joined else None
        gap = markdown[last.end : passage.start] if last else ""
        if last and last.section == passage.section and len(gap) <= _GAP_CHARS and not gap.strip():
            joined[-1] = replace(last, end=passage.end)
        else:
            joined.append(passage)
    return joined


def _show_part(markdown: str, passage: Passage, max_chars: int) -> ShownPassages:
    """Return the beginning of a passage that alone is too long; code is closed again."""
    head = _head(markdown, passage) if max_chars >= _HEADED_CHARS else ""
    first_line = markdown[passage.start : passage.end].partition("\n")[0]
    closing = "\n" + _fence_of(first_line) if passage.kind is BlockKind.CODE else ""
    room = max_chars - len(head) - len(closing)
    if room < 1:
        head, closing, room = "", "", max_chars
    block = Block(passage.kind, passage.start, passage.end)
    end = find_cut(markdown[: passage.end], [block], passage.start, room)
    text = f"{head}{markdown[passage.start : end].rstrip()}{closing}"
    return ShownPassages(text, (replace(passage, end=end),), 1, is_cut=True)


def _fence_of(line: str) -> str:
    fence = _FENCE.search(line)
    return fence[0] if fence else ""
