"""Ordering: pages that match by their words, put in order by their meaning as well."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cinder.store.index_base import Embedder

MAX_COMPARED = 200
"""Of how many pages, the best by their words, the meaning counts; it moves none of the others."""

# How much meaning counts beside words; anything from a third to a half does about as well.
_MEANING = 0.4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page that matches, and how well."""

    id: int
    score: float
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a query is about, and who compares pages with it."""

    vector: bytes
    embedder: Embedder


def order_by_meaning(
    ranked: list[Ranked], meaning: Meaning | None, count: int = MAX_COMPARED
) -> list[Ranked]:
    """Return pages that are in order of their words, so many of them in order of both.

    Scores keep their range, so that those of all pages can be compared.
    """
    first, rest = ranked[:count], ranked[count:]
    vectors = [page.vector for page in first if page.vector is not None]
    if meaning is None or not vectors:
        return ranked
    likeness = iter(_spread(meaning.embedder.compare(meaning.vector, vectors)))
    best, worst = first[0].score, first[-1].score
    by_words = _spread([page.score for page in first])
    # A page that entered before there was a model is neither like the query nor unlike it.
    by_meaning = [0.5 if page.vector is None else next(likeness) for page in first]
    moved = [
        replace(page, score=worst + (best - worst) * ((1 - _MEANING) * words + _MEANING * like))
        for page, words, like in zip(first, by_words, by_meaning, strict=True)
    ]
    return [*sorted(moved, key=lambda page: -page.score), *rest]


def _spread(values: Sequence[float]) -> list[float]:
    """Return values moved to between 0 and 1."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]
