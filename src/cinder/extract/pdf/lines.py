"""Puts the words of a page into rows, and the rows into segments that wide gaps divide."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from cinder.extract.pdf.layout import Segment, Word

_BASELINE_TOLERANCE = 0.4
# The space between two words of a line is narrower than this, in font sizes.
_SEGMENT_GAP = 1.0
_LEADER = re.compile(r"[.·…_]+")
_LEADERS = re.compile(r"[.·…_]{3,}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def split_rows(words: Iterable[Word]) -> list[list[Word]]:
    """Return the words by the line they stand on, from top to bottom, each from left to right."""
    rows: list[list[Word]] = []
    anchor: Word | None = None
    for word in sorted(words, key=lambda word: (word.baseline, word.box.left)):
        size = max(word.size, anchor.size) if anchor else 0.0
        if anchor is None or word.baseline - anchor.baseline > _BASELINE_TOLERANCE * size:
            rows.append([])
            anchor = word
        elif word.size > anchor.size:
            # A raised figure comes first by its baseline, but the row stands on the larger words.
            anchor = word
        rows[-1].append(word)
    return [sorted(row, key=lambda word: word.box.left) for row in rows]


def split_segments(row: Sequence[Word], gap: float = _SEGMENT_GAP) -> list[Segment]:
    """Return the words of a row that stand together; dots that lead to a number are left out."""
    segments: list[list[Word]] = []
    right = 0.0
    for word in _without_leaders(row):
        if not segments or word.box.left - right > gap * word.size:
            segments.append([])
            right = word.box.right
        segments[-1].append(word)
        right = max(right, word.box.right)
    return [Segment(_in_reading_direction(words)) for words in segments]


def _without_leaders(row: Sequence[Word]) -> Iterator[Word]:
    for _, group in groupby(row, lambda word: _LEADER.fullmatch(word.text) is not None):
        words = list(group)
        if not _LEADERS.fullmatch("".join(word.text for word in words)):
            yield from words


def join_segments(segments: Sequence[Segment]) -> Segment:
    """Return the segments of one row as one."""
    if len(segments) == 1:
        return segments[0]
    words = sorted((w for s in segments for w in s.words), key=lambda word: word.box.left)
    return Segment(_in_reading_direction(words))


def _in_reading_direction(words: list[Word]) -> tuple[Word, ...]:
    backwards = sum(_RIGHT_TO_LEFT.search(word.text) is not None for word in words)
    return tuple(reversed(words)) if 2 * backwards > len(words) else tuple(words)
