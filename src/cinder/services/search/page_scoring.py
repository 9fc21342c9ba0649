"""Scoring pages by their real text, and the passage of each that answers the query best."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cinder.extract.reading.blocks import BlockKind, find_blocks
from cinder.extract.reading.inline_text import plain_text
from cinder.extract.reading.outline import find_outline
from cinder.extract.reading.passages import find_passages
from cinder.extract.reading.terms import find_query_terms, find_terms
from cinder.services.search.fusion import SUMMARY_CHARS, coverage, cut_words

# Longer pages are judged by their beginning: reading all of them would take the search's time.
SCORED_CHARS = 60_000

# The usual constants of BM25.
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
_COVERAGE_SHARE = 0.5
_WORD = re.compile(r"\w+")
# What a table has between its cells, and beneath its head.
_RULE = re.compile(r"(?m)^[ \t|:-]+$")
_CELL_MARKS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """What was read of a page."""

    markdown: str
    title: str = ""
    final_url: str = ""
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TextScore:
    """How well a page's text answers a query, from 0 to 1, and the passage that does it best."""

    score: float
    passage: str


def score_pages(query: str, pages: Mapping[str, PageText]) -> dict[str, TextScore]:
    """Return the score of each page among these, under the same names."""
    wanted = find_query_terms(query)
    texts = {name: f"{page.title}\n{page.markdown[:SCORED_CHARS]}" for name, page in pages.items()}
    weights = _weigh(texts, wanted)
    best = max(weights.values(), default=0.0) or 1.0
    scores = {}
    for name, page in pages.items():
        passage = find_best_passage(page.markdown[:SCORED_CHARS], query)
        covered = coverage(f"{page.title} {passage}", wanted)
        share = _COVERAGE_SHARE * covered + (1 - _COVERAGE_SHARE) * weights[name] / best
        scores[name] = TextScore(share, passage)
    return scores


def find_best_passage(markdown: str, query: str) -> str:
    """Return the part of a text that matches best, as plain text; empty where nothing does."""
    blocks = find_blocks(markdown)
    found = find_passages(markdown, blocks, find_outline(markdown, blocks), query)
    if not found:
        return ""
    text = markdown[found[0].start : found[0].end]
    if found[0].kind is BlockKind.TABLE:
        text = _CELL_MARKS.sub(" ", _RULE.sub("", text))
    return _densest(plain_text(text), find_query_terms(query))


def _weigh(texts: Mapping[str, str], wanted: set[str]) -> dict[str, float]:
    counts = {name: Counter(find_terms(text)) for name, text in texts.items()}
    having = Counter(term for found in counts.values() for term in wanted if term in found)
    lengths = {name: found.total() for name, found in counts.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    weights = {}
    for name, found in counts.items():
        relative = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths[name] / mean)
        weights[name] = sum(
            math.log(1 + (len(texts) + 0.5) / (having[term] + 0.5))
            * found[term]
            * (_SATURATION + 1)
            / (found[term] + relative)
            for term in sorted(wanted)
        )
    return weights


def _densest(text: str, wanted: set[str]) -> str:
    """Return the part of a long passage that has most of the wanted words."""
    if len(text) <= SUMMARY_CHARS:
        return text
    places = [
        (word.start(), term)
        for word in _WORD.finditer(text)
        for term in wanted.intersection(find_terms(word[0]))
    ]
    starts = [0, *(place for place, _ in places)]
    room = SUMMARY_CHARS // 2
    best = max(
        starts, key=lambda start: len({t for place, t in places if start <= place < start + room})
    )
    begin = max(0, best - SUMMARY_CHARS // 4)
    begin = text.rfind(" ", 0, begin) + 1 if begin else 0
    lead = "…" if begin else ""
    return lead + cut_words(text[begin:], SUMMARY_CHARS - len(lead))
