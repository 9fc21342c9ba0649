"""Where two sequences differ: found by what is unique in both, in nearly linear time.

The usual algorithms take the square of the length on texts that repeat themselves, and pages can
be made to. Here an item that both sides hold exactly once is an anchor; between anchors the search
goes on, to a bounded depth, and what is left without one counts as replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one sequence and the stretch of the other that stands in its place."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def differing_spans(before: Sequence[str], after: Sequence[str]) -> list[Span]:
    """Return the stretches that differ, in order; between them the sequences are equal."""
    spans: list[Span] = []
    pending = [(Span(0, len(before), 0, len(after)), 0)]
    while pending:
        whole, depth = pending.pop()
        span = _trimmed(before, after, whole)
        if span.before_start == span.before_end and span.after_start == span.after_end:
            continue
        anchors = _anchors(before, after, span) if depth < _MAX_DEPTH else []
        if anchors:
            pending += [(gap, depth + 1) for gap in reversed(list(_gaps(span, anchors)))]
        else:
            spans.append(span)
    return spans


def _trimmed(before: Sequence[str], after: Sequence[str], span: Span) -> Span:
    """Return a span without what is equal at its beginning and at its end."""
    b_start, b_end = span.before_start, span.before_end
    a_start, a_end = span.after_start, span.after_end
    while b_start < b_end and a_start < a_end and before[b_start] == after[a_start]:
        b_start, a_start = b_start + 1, a_start + 1
    while b_start < b_end and a_start < a_end and before[b_end - 1] == after[a_end - 1]:
        b_end, a_end = b_end - 1, a_end - 1
    return Span(b_start, b_end, a_start, a_end)


def _anchors(before: Sequence[str], after: Sequence[str], span: Span) -> list[tuple[int, int]]:
    """Return the positions of items unique on both sides, as many as stand in the same order."""
    old = before[span.before_start : span.before_end]
    new = after[span.after_start : span.after_end]
    old_counts, new_counts = Counter(old), Counter(new)
    places = {item: place for place, item in enumerate(new) if new_counts[item] == 1}
    pairs = [
        (place + span.before_start, places[item] + span.after_start)
        for place, item in enumerate(old)
        if old_counts[item] == 1 and item in places
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest run of pairs, which rise in the first place, that rises in the second."""
    ends: list[int] = []  # the lowest end of a run of each length, as a place in `pairs`
    lows: list[int] = []
    came_from: list[int] = []
    for place, (_, value) in enumerate(pairs):
        length = bisect_left(lows, value)
        came_from.append(ends[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        lows[length : length + 1] = [value]
    run, place = [], ends[-1] if ends else -1
    while place >= 0:
        run.append(pairs[place])
        place = came_from[place]
    return run[::-1]


def _gaps(span: Span, anchors: list[tuple[int, int]]) -> Iterator[Span]:
    before_start, after_start = span.before_start, span.after_start
    for before_place, after_place in (*anchors, (span.before_end, span.after_end)):
        yield Span(before_start, before_place, after_start, after_place)
        before_start, after_start = before_place + 1, after_place + 1
