"""The difference of two texts: a unified diff and the changed blocks.

The usual algorithms take the square of the length on texts that repeat themselves, and pages can
be made to. Here an item that both sides hold exactly once is an anchor; between anchors the search
goes on, to a bounded depth, and what is left without one counts as replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cinder.models.saved import BlockChange, BlockChangeKind, Comparison, TextDiff
from cinder.text.markdown_blocks import BlockKind, find_blocks

_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class DiffSpan:
    """A stretch of one sequence and the stretch of the other that stands in its place."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def differing_spans(before: Sequence[str], after: Sequence[str]) -> list[DiffSpan]:
    """Return the stretches that differ, in order; between them the sequences are equal."""
    spans: list[DiffSpan] = []
    pending = [(DiffSpan(0, len(before), 0, len(after)), 0)]
    while pending:
        whole, depth = pending.pop()
        span = _trim_span(before, after, whole)
        if span.before_start == span.before_end and span.after_start == span.after_end:
            continue
        anchors = _anchors(before, after, span) if depth < _MAX_DEPTH else []
        if anchors:
            pending += [(gap, depth + 1) for gap in reversed(list(_gaps(span, anchors)))]
        else:
            spans.append(span)
    return spans


def _trim_span(before: Sequence[str], after: Sequence[str], span: DiffSpan) -> DiffSpan:
    """Return a span without what is equal at its beginning and at its end."""
    b_start, b_end = span.before_start, span.before_end
    a_start, a_end = span.after_start, span.after_end
    while b_start < b_end and a_start < a_end and before[b_start] == after[a_start]:
        b_start, a_start = b_start + 1, a_start + 1
    while b_start < b_end and a_start < a_end and before[b_end - 1] == after[a_end - 1]:
        b_end, a_end = b_end - 1, a_end - 1
    return DiffSpan(b_start, b_end, a_start, a_end)


def _anchors(before: Sequence[str], after: Sequence[str], span: DiffSpan) -> list[tuple[int, int]]:
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


def _gaps(span: DiffSpan, anchors: list[tuple[int, int]]) -> Iterator[DiffSpan]:
    before_start, after_start = span.before_start, span.after_start
    for before_place, after_place in (*anchors, (span.before_end, span.after_end)):
        yield DiffSpan(before_start, before_place, after_start, after_place)
        before_start, after_start = before_place + 1, after_place + 1


_MAX_SECTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """A paragraph, heading, list item, table row or code block, and the heading it is under."""

    kind: BlockKind
    section: str
    text: str


def split_blocks(markdown: str) -> list[DiffBlock]:
    """Return the blocks of a markdown text, in order."""
    blocks: list[DiffBlock] = []
    section = ""
    for found in find_blocks(markdown):
        if found.kind is BlockKind.HEADING:
            section = found.title[:_MAX_SECTION_CHARS]
        text = markdown[found.start : found.end]
        parts = text.split("\n") if found.kind is BlockKind.TABLE else [text]
        blocks += [DiffBlock(found.kind, section, part.strip()) for part in parts]
    return blocks


MAX_LINES = 50_000
MAX_LINE_CHARS = 5_000
MAX_UNIFIED_CHARS = 500_000
MAX_BLOCK_CHANGES = 1_000

_CONTEXT_LINES = 3
_WHITE_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
# How many blocks on is looked for one that a block may have become.
_LOOKED_AHEAD = 8
_MIN_SIMILARITY = 0.5
_CUT = " […]"


def compare_texts(before: str, after: str) -> Comparison:
    """Return whether two texts are the same, white space aside, and how they differ if not."""
    if _plain(before) == _plain(after):
        return Comparison(is_same=True)
    old, new = before.splitlines(), after.splitlines()
    is_cut = max(len(old), len(new)) > MAX_LINES
    old, new = old[:MAX_LINES], new[:MAX_LINES]
    unified, is_cut_unified = _bounded_lines(_unified(old, new))
    blocks = list(_block_changes(_blocks(old), _blocks(new)))
    is_cut |= is_cut_unified or len(blocks) > MAX_BLOCK_CHANGES
    shown = tuple(blocks[:MAX_BLOCK_CHANGES])
    is_cut |= any((change.before or "").endswith(_CUT) for change in shown)
    is_cut |= any((change.after or "").endswith(_CUT) for change in shown)
    return Comparison(is_same=False, diff=TextDiff(unified=unified, blocks=shown, is_cut=is_cut))


def _plain(text: str) -> str:
    return _WHITE_SPACE.sub(" ", text).strip()


# The unified diff


def _unified(old: list[str], new: list[str]) -> Iterator[str]:
    spans = differing_spans([_plain(line) for line in old], [_plain(line) for line in new])
    yield "--- previous"
    yield "+++ current"
    for hunk in _hunks(spans):
        yield from _hunk_lines(hunk, old, new)


def _hunks(spans: Iterable[DiffSpan]) -> Iterator[list[DiffSpan]]:
    """Gather spans whose surroundings touch."""
    hunk: list[DiffSpan] = []
    for span in spans:
        if hunk and span.before_start - hunk[-1].before_end > 2 * _CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(span)
    if hunk:
        yield hunk


def _hunk_lines(hunk: list[DiffSpan], old: list[str], new: list[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(_CONTEXT_LINES, first.before_start)
    trail = min(_CONTEXT_LINES, len(old) - last.before_end)
    before = _range(first.before_start - lead, last.before_end + trail)
    after = _range(first.after_start - lead, last.after_end + trail)
    yield f"@@ -{before} +{after} @@"
    place = first.before_start - lead
    for span in hunk:
        yield from (f" {line}" for line in old[place : span.before_start])
        yield from (f"-{line}" for line in old[span.before_start : span.before_end])
        yield from (f"+{line}" for line in new[span.after_start : span.after_end])
        place = span.before_end
    yield from (f" {line}" for line in old[place : last.before_end + trail])


def _range(start: int, end: int) -> str:
    """Return a stretch of lines as diffs write it: counted from one, an empty one from zero."""
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _bounded_lines(lines: Iterable[str]) -> tuple[str, bool]:
    kept: list[str] = []
    room = MAX_UNIFIED_CHARS
    is_cut = False
    for line in lines:
        shown = _shortened(line)
        is_cut |= shown is not line
        room -= len(shown) + 1
        if room < 0:
            return "\n".join(kept), True
        kept.append(shown)
    return "\n".join(kept), is_cut


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARS else text[:MAX_LINE_CHARS] + _CUT


# The changes of blocks


def _blocks(lines: list[str]) -> list[DiffBlock]:
    return split_blocks("\n".join(lines))


def _block_changes(old: Sequence[DiffBlock], new: Sequence[DiffBlock]) -> Iterator[BlockChange]:
    spans = differing_spans([_plain(b.text) for b in old], [_plain(b.text) for b in new])
    for span in spans:
        gone = old[span.before_start : span.before_end]
        come = new[span.after_start : span.after_end]
        yield from _pair_blocks(gone, come)


def _pair_blocks(gone: Sequence[DiffBlock], come: Sequence[DiffBlock]) -> Iterator[BlockChange]:
    """Tell, in order, which block became which, and which are gone or new."""
    words = [(block.kind, _words(block)) for block in come]
    place = 0
    for block in gone:
        partner = _partner(block, words, place)
        if len(gone) == len(come) == 1 and block.kind is come[0].kind:
            partner = 0
        if partner is None:
            yield _removed(block)
            continue
        yield from map(_added, come[place:partner])
        yield _changed(block, come[partner])
        place = partner + 1
    yield from map(_added, come[place:])


def _partner(
    block: DiffBlock, words: list[tuple[BlockKind, frozenset[str]]], start: int
) -> int | None:
    """Return the place of the first block ahead that this one may have become."""
    own = _words(block)
    for place in range(start, min(start + _LOOKED_AHEAD, len(words))):
        kind, other = words[place]
        longer = max(len(own), len(other))
        if kind is block.kind and longer and len(own & other) / longer >= _MIN_SIMILARITY:
            return place
    return None


def _words(block: DiffBlock) -> frozenset[str]:
    return frozenset(_WORD.findall(block.text[:MAX_LINE_CHARS].casefold()))


def _added(block: DiffBlock) -> BlockChange:
    kind = BlockChangeKind.ADDED
    return BlockChange(kind=kind, section=block.section, after=_shortened(block.text))


def _removed(block: DiffBlock) -> BlockChange:
    kind = BlockChangeKind.REMOVED
    return BlockChange(kind=kind, section=block.section, before=_shortened(block.text))


def _changed(before: DiffBlock, after: DiffBlock) -> BlockChange:
    return BlockChange(
        kind=BlockChangeKind.CHANGED,
        section=after.section,
        before=_shortened(before.text),
        after=_shortened(after.text),
    )
