"""The difference of two texts: a unified diff, and what became of each block."""

import re
from collections.abc import Iterable, Iterator, Sequence

from cinder.extract.changes.sequence_diff import Span, differing_spans
from cinder.extract.changes.text_blocks import Block, split_blocks
from cinder.extract.reading.blocks import BlockKind
from cinder.model.change import BlockChange, BlockChangeKind, Comparison, TextDiff

MAX_LINES = 50_000
MAX_LINE_CHARS = 5_000
MAX_UNIFIED_CHARS = 500_000
MAX_BLOCK_CHANGES = 1_000

_CONTEXT_LINES = 3
_WHITE_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
# How many blocks on is looked for one that a block may have become.
_LOOKED_AHEAD = 8
_LEAST_LIKENESS = 0.5
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


def _hunks(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Gather spans whose surroundings touch."""
    hunk: list[Span] = []
    for span in spans:
        if hunk and span.before_start - hunk[-1].before_end > 2 * _CONTEXT_LINES:
            yield hunk
            hunk = []
        hunk.append(span)
    if hunk:
        yield hunk


def _hunk_lines(hunk: list[Span], old: list[str], new: list[str]) -> Iterator[str]:
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


def _blocks(lines: list[str]) -> list[Block]:
    return split_blocks("\n".join(lines))


def _block_changes(old: Sequence[Block], new: Sequence[Block]) -> Iterator[BlockChange]:
    spans = differing_spans([_plain(b.text) for b in old], [_plain(b.text) for b in new])
    for span in spans:
        gone = old[span.before_start : span.before_end]
        come = new[span.after_start : span.after_end]
        yield from _paired(gone, come)


def _paired(gone: Sequence[Block], come: Sequence[Block]) -> Iterator[BlockChange]:
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


def _partner(block: Block, words: list[tuple[BlockKind, frozenset[str]]], start: int) -> int | None:
    """Return the place of the first block ahead that this one may have become."""
    own = _words(block)
    for place in range(start, min(start + _LOOKED_AHEAD, len(words))):
        kind, other = words[place]
        longer = max(len(own), len(other))
        if kind is block.kind and longer and len(own & other) / longer >= _LEAST_LIKENESS:
            return place
    return None


def _words(block: Block) -> frozenset[str]:
    return frozenset(_WORD.findall(block.text[:MAX_LINE_CHARS].casefold()))


def _added(block: Block) -> BlockChange:
    kind = BlockChangeKind.ADDED
    return BlockChange(kind=kind, section=block.section, after=_shortened(block.text))


def _removed(block: Block) -> BlockChange:
    kind = BlockChangeKind.REMOVED
    return BlockChange(kind=kind, section=block.section, before=_shortened(block.text))


def _changed(before: Block, after: Block) -> BlockChange:
    return BlockChange(
        kind=BlockChangeKind.CHANGED,
        section=after.section,
        before=_shortened(before.text),
        after=_shortened(after.text),
    )
