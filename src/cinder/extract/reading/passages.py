"""Passages: the parts of a markdown text that match a query, found as a search engine would."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinder.extract.reading.blocks import Block, BlockKind
from cinder.extract.reading.cutting import find_cut
from cinder.extract.reading.outline import Heading
from cinder.extract.reading.terms import find_query_terms, find_terms

# What stands further on is not searched.
SEARCHED_CHARS = 1_000_000

_MAX_TERMS = 64
# A longer paragraph or table is several passages; short list items are one together.
_PASSAGE_CHARS = 1_000
_LIST_CHARS = 500
# The usual constants of BM25: how soon a repeated word stops counting, and how much length does.
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
_HEADING_WEIGHT = 0.5
# What scores less than this part of the best one is about something else.
_LEAST_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text, and the section it stands in."""

    section: str
    start: int
    end: int
    kind: BlockKind
    block: int
    """Where the block begins that it is part of."""
    score: float = 0.0


def find_passages(
    text: str, blocks: Sequence[Block], outline: Sequence[Heading], query: str
) -> list[Passage]:
    """Return the passages that match a query, the best first; none where no word of it occurs.

    Only the first `SEARCHED_CHARS` from the first of the blocks on are looked at.
    """
    wanted = sorted(find_query_terms(query))[:_MAX_TERMS]
    units = list(_split(text, blocks, outline))
    counts = [_count(text[unit.start : unit.end], wanted) for unit in units]
    headings = _weigh_headings(outline, wanted, len(text))
    scores = _score(units, counts, headings, wanted)
    scored = [
        Passage(u.section, u.start, u.end, u.kind, u.block, score)
        for u, score in zip(units, scores, strict=True)
        if score > 0
    ]
    scored.sort(key=lambda passage: (-passage.score, passage.start))
    least = scored[0].score * _LEAST_SHARE if scored else 0.0
    return [passage for passage in scored if passage.score >= least]


def _split(text: str, blocks: Sequence[Block], outline: Sequence[Heading]) -> Iterator[Passage]:
    """Yield a text in pieces of a size that is worth showing, headings left out."""
    section = -1
    gathered: Passage | None = None
    last = blocks[0].start + SEARCHED_CHARS if blocks else 0
    for block in blocks:
        if block.start >= last:
            break
        while section + 1 < len(outline) and outline[section + 1].start <= block.start:
            section += 1
        name = outline[section].id if section >= 0 else ""
        if gathered is not None and not _continues(gathered, block, name):
            yield gathered
            gathered = None
        if block.kind is BlockKind.LIST_ITEM and block.end - block.start <= _PASSAGE_CHARS:
            start = gathered.start if gathered is not None else block.start
            gathered = Passage(name, start, block.end, block.kind, start)
        elif block.kind is not BlockKind.HEADING:
            yield from _pieces(text, block, name)
    if gathered is not None:
        yield gathered


def _continues(gathered: Passage, block: Block, section: str) -> bool:
    is_item = block.kind is BlockKind.LIST_ITEM and gathered.section == section
    return is_item and block.end - gathered.start <= _LIST_CHARS


def _pieces(text: str, block: Block, section: str) -> Iterator[Passage]:
    if block.kind is BlockKind.CODE:
        yield Passage(section, block.start, block.end, block.kind, block.start)
        return
    start, here = block.start, [block]
    last = min(block.end, start + SEARCHED_CHARS)
    while start < last:
        end = min(find_cut(text, here, start, _PASSAGE_CHARS), block.end)
        yield Passage(section, start, end, block.kind, block.start)
        start = end


def _count(text: str, wanted: Sequence[str]) -> tuple[Counter[str], int]:
    terms = list(find_terms(text))
    every = Counter(terms)
    return Counter({term: every[term] for term in wanted if term in every}), len(terms)


def _weigh_headings(
    outline: Sequence[Heading], wanted: Sequence[str], total_chars: int
) -> dict[str, dict[str, float]]:
    """Map each section to the wanted terms in its heading and in those above it, with weights.

    A heading above nearly all of the text tells little of any one passage.
    """
    weights: dict[str, dict[str, float]] = {}
    above: list[tuple[int, dict[str, float]]] = []
    for heading in outline:
        while above and above[-1][0] >= heading.level:
            above.pop()
        weight = _HEADING_WEIGHT * (1 - heading.chars / (total_chars + 1))
        own = dict.fromkeys(set(find_terms(heading.title)).intersection(wanted), weight)
        weights[heading.id] = (above[-1][1] | own) if above else own
        above.append((heading.level, weights[heading.id]))
    return weights


def _score(
    units: Sequence[Passage],
    counts: Sequence[tuple[Counter[str], int]],
    headings: dict[str, dict[str, float]],
    wanted: Sequence[str],
) -> list[float]:
    total = len(units) or 1
    mean_length = sum(length for _, length in counts) / total or 1.0
    having = Counter(term for found, _ in counts for term in found)
    weights = {
        term: math.log(1 + (total - having[term] + 0.5) / (having[term] + 0.5)) for term in wanted
    }
    scores = []
    for unit, (found, length) in zip(units, counts, strict=True):
        above = headings.get(unit.section, {})
        relative = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length / mean_length
        matched = set(found) | set(above)
        score = 0.0
        for term in sorted(matched):
            times = found[term] + above.get(term, 0.0)
            score += weights[term] * times * (_SATURATION + 1) / (times + _SATURATION * relative)
        coverage = len(matched) / max(1, len(wanted))
        scores.append(score * (0.5 + 0.5 * coverage))
    return scores
