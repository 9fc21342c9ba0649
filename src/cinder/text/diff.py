"""The difference of two texts: a unified diff and the changed blocks.

The usual algorithms take quadratic time on repetitive texts, and a hostile page can be one. Here an
item that occurs exactly once on both sides is an anchor. The search continues between anchors, to a
bounded depth, and a stretch without an anchor counts as replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinder.models.saved import BlockChange, BlockChangeKind, Comparison, TextDiff
from cinder.text.markdown_blocks import BlockKind, find_blocks

_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class DiffSpan:
    """A stretch of one sequence and the stretch of the other that replaces it."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def differing_spans(before: Sequence[str], after: Sequence[str]) -> list[DiffSpan]:
    """Return the stretches that differ, in order; between them the sequences are equal."""
    spans: list[DiffSpan] = []
    pending = [(DiffSpan(0, len(before), 0, len(after)), 0)]
    while pending:
        span, depth = pending.pop()
        b_start, b_end = span.before_start, span.before_end
        a_start, a_end = span.after_start, span.after_end
        while b_start < b_end and a_start < a_end and before[b_start] == after[a_start]:
            b_start, a_start = b_start + 1, a_start + 1
        while b_start < b_end and a_start < a_end and before[b_end - 1] == after[a_end - 1]:
            b_end, a_end = b_end - 1, a_end - 1
        if b_start == b_end and a_start == a_end:
            continue
        span = DiffSpan(b_start, b_end, a_start, a_end)
        anchors = _find_anchors(before, after, span) if depth < _MAX_DEPTH else []
        if not anchors:
            spans.append(span)
            continue
        gaps = []
        for b_anchor, a_anchor in (*anchors, (b_end, a_end)):
            gaps.append((DiffSpan(b_start, b_anchor, a_start, a_anchor), depth + 1))
            b_start, a_start = b_anchor + 1, a_anchor + 1
        pending += reversed(gaps)
    return spans


def _find_anchors(
    before: Sequence[str], after: Sequence[str], span: DiffSpan
) -> list[tuple[int, int]]:
    """Return the positions of items unique on both sides, as many as have the same order."""
    old = before[span.before_start : span.before_end]
    new = after[span.after_start : span.after_end]
    old_counts, new_counts = Counter(old), Counter(new)
    positions = {item: index for index, item in enumerate(new) if new_counts[item] == 1}
    pairs = [
        (index + span.before_start, positions[item] + span.after_start)
        for index, item in enumerate(old)
        if old_counts[item] == 1 and item in positions
    ]
    # The longest increasing subsequence, by the positions on the other side.
    ends: list[int] = []  # the lowest end of a run of each length, as an index of `pairs`
    lows: list[int] = []
    previous: list[int] = []
    for index, (_, value) in enumerate(pairs):
        length = bisect_left(lows, value)
        previous.append(ends[length - 1] if length else -1)
        ends[length : length + 1] = [index]
        lows[length : length + 1] = [value]
    run, index = [], ends[-1] if ends else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


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
# How many of the next blocks are searched for the one that a block became.
_LOOKED_AHEAD = 8
_MIN_SIMILARITY = 0.5
_CUT = " […]"


def compare_texts(before: str, after: str) -> Comparison:
    """Return whether two texts are the same, white space aside, and their difference if not."""
    if _plain(before) == _plain(after):
        return Comparison(is_same=True)
    old, new = before.splitlines(), after.splitlines()
    is_cut = max(len(old), len(new)) > MAX_LINES
    old, new = old[:MAX_LINES], new[:MAX_LINES]
    unified: list[str] = []
    room = MAX_UNIFIED_CHARS
    for line in _unified(old, new):
        short = _shortened(line)
        room -= len(short) + 1
        is_cut |= short is not line or room < 0
        if room < 0:
            break
        unified.append(short)
    old_blocks, new_blocks = split_blocks("\n".join(old)), split_blocks("\n".join(new))
    spans = differing_spans(
        [_plain(block.text) for block in old_blocks], [_plain(block.text) for block in new_blocks]
    )
    changes = [
        change
        for span in spans
        for change in _pair_blocks(
            old_blocks[span.before_start : span.before_end],
            new_blocks[span.after_start : span.after_end],
        )
    ]
    shown = tuple(changes[:MAX_BLOCK_CHANGES])
    texts = (text or "" for change in shown for text in (change.before, change.after))
    is_cut |= len(changes) > MAX_BLOCK_CHANGES or any(text.endswith(_CUT) for text in texts)
    diff = TextDiff(unified="\n".join(unified), blocks=shown, is_cut=is_cut)
    return Comparison(is_same=False, diff=diff)


def _plain(text: str) -> str:
    return _WHITE_SPACE.sub(" ", text).strip()


def _unified(old: list[str], new: list[str]) -> Iterator[str]:
    yield "--- previous"
    yield "+++ current"
    hunk: list[DiffSpan] = []
    for span in differing_spans([_plain(line) for line in old], [_plain(line) for line in new]):
        # Spans whose context lines touch share a hunk.
        if hunk and span.before_start - hunk[-1].before_end > 2 * _CONTEXT_LINES:
            yield from _hunk_lines(hunk, old, new)
            hunk = []
        hunk.append(span)
    if hunk:
        yield from _hunk_lines(hunk, old, new)


def _hunk_lines(hunk: list[DiffSpan], old: list[str], new: list[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(_CONTEXT_LINES, first.before_start)
    trail = min(_CONTEXT_LINES, len(old) - last.before_end)
    before = _range(first.before_start - lead, last.before_end + trail)
    after = _range(first.after_start - lead, last.after_end + trail)
    yield f"@@ -{before} +{after} @@"
    start = first.before_start - lead
    for span in hunk:
        yield from (f" {line}" for line in old[start : span.before_start])
        yield from (f"-{line}" for line in old[span.before_start : span.before_end])
        yield from (f"+{line}" for line in new[span.after_start : span.after_end])
        start = span.before_end
    yield from (f" {line}" for line in old[start : last.before_end + trail])


def _range(start: int, end: int) -> str:
    """Return a range of lines as diffs write it: counted from one, an empty one from zero."""
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARS else text[:MAX_LINE_CHARS] + _CUT


def _pair_blocks(old: Sequence[DiffBlock], new: Sequence[DiffBlock]) -> Iterator[BlockChange]:
    """Yield, in order, which block became which, and which were removed or added."""
    new_words = [_words(block) for block in new]
    start = 0
    for block in old:
        words = _words(block)
        partner = None
        if len(old) == len(new) == 1 and block.kind is new[0].kind:
            partner = 0
        for index in range(start, min(start + _LOOKED_AHEAD, len(new))):
            longer = max(len(words), len(new_words[index]))
            common = len(words & new_words[index])
            if new[index].kind is block.kind and longer and common / longer >= _MIN_SIMILARITY:
                partner = index
                break
        if partner is None:
            yield _change(block, None)
            continue
        yield from (_change(None, added) for added in new[start:partner])
        yield _change(block, new[partner])
        start = partner + 1
    yield from (_change(None, added) for added in new[start:])


def _words(block: DiffBlock) -> frozenset[str]:
    return frozenset(_WORD.findall(block.text[:MAX_LINE_CHARS].casefold()))


def _change(before: DiffBlock | None, after: DiffBlock | None) -> BlockChange:
    changed = BlockChangeKind.CHANGED if before else BlockChangeKind.ADDED
    block = after or before
    return BlockChange(
        kind=changed if after else BlockChangeKind.REMOVED,
        section=block.section if block else "",
        before=_shortened(before.text) if before else None,
        after=_shortened(after.text) if after else None,
    )
