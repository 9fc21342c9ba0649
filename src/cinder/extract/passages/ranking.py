"""Ranks the passages of a page by a question, each of its aspects in turn; in linear time."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2s
from itertools import zip_longest

from cinder.extract.passages.aspects import Aspect, find_aspects
from cinder.extract.passages.pieces import Piece, find_pieces
from cinder.extract.reading.terms import find_terms
from cinder.model.passage import Passage, PassageQuery, Sign

# The usual constants of BM25: how soon a repeated word stops counting, and how much length does.
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
_HEADING_WEIGHT = 0.5
# What a passage has of the score of the one before or after it, which may name what it tells.
_NEIGHBOUR_SHARE = 0.2
# How much more a passage counts that has the sign of a value.
_SIGN_BONUS = 1.25
# What scores less than this part of an aspect's best waits until every aspect had its turn.
_LEAST_SHARE = 0.3
# Repetition is looked for among so many of the first; further on only exact repetition counts.
_COMPARED = 64
_ALIKE = 0.8
_ID_BYTES = 5
_SIGNS = {Sign.FIGURE: re.compile(r"\d"), Sign.AT: re.compile("@")}

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class _Read:
    """A piece, what it has of the wanted terms, and what tells it from others."""

    piece: Piece
    found: Mapping[str, float]
    length: int
    terms: frozenset[str]


def rank_passages(markdown: str, query: PassageQuery, limit: int) -> tuple[Passage, ...]:
    """Return the passages of a text that most likely hold what is asked for, the best first.

    Each aspect of the question has its turn, and what repeats a better passage comes late. What
    matches nothing comes last, in the order of the page, with a score of 0.
    """
    aspects = find_aspects(query)
    wanted = {term for aspect in aspects for term in aspect.terms}
    heading_terms = lru_cache(maxsize=1_000)(lambda heading: frozenset(find_terms(heading)))
    read = [
        _read(markdown, piece, wanted, heading_terms(piece.heading))
        for piece in find_pieces(markdown)
    ]
    by_aspect = _score(markdown, read, aspects)
    total: defaultdict[int, float] = defaultdict(float)
    for scores in by_aspect:
        for place, score in scores.items():
            total[place] += score / len(by_aspect)
    ids = _ids(markdown, [each.piece for each in read])
    order = _put_repetition_last(_order(by_aspect, total, len(read)), read)[:limit]
    return tuple(
        _passage(markdown, read[place].piece, ids[place], total.get(place, 0.0)) for place in order
    )


def _read(markdown: str, piece: Piece, wanted: set[str], above: frozenset[str]) -> _Read:
    terms = list(find_terms(markdown[piece.start : piece.end]))
    every = Counter(terms)
    found: dict[str, float] = {term: every[term] for term in every.keys() & wanted}
    for term in above & wanted:
        found[term] = found.get(term, 0) + _HEADING_WEIGHT
    return _Read(piece, found, len(terms), frozenset(every))


def _score(markdown: str, read: Sequence[_Read], aspects: Sequence[Aspect]) -> list[Scores]:
    """Return the scores of the pieces by each aspect, its best being 1."""
    having = Counter(term for each in read for term in each.found)
    rarity = {
        term: math.log(1 + (len(read) - count + 0.5) / (count + 0.5))
        for term, count in having.items()
    }
    mean_length = sum(each.length for each in read) / (len(read) or 1) or 1.0
    asking: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, aspect in enumerate(aspects):
        for term, weight in aspect.terms.items():
            asking[term].append((number, weight))
    scores: list[Scores] = [{} for _ in aspects]
    for place, each in enumerate(read):
        relative = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * each.length / mean_length
        for term in sorted(each.found):
            times = each.found[term]
            gain = rarity[term] * times * (_SATURATION + 1) / (times + _SATURATION * relative)
            for number, weight in asking[term]:
                scores[number][place] = scores[number].get(place, 0.0) + weight * gain
    return [
        _normalised(_with_neighbours(_signed(markdown, read, aspect, found), len(read)))
        for aspect, found in zip(aspects, scores, strict=True)
    ]


def _signed(markdown: str, read: Sequence[_Read], aspect: Aspect, scores: Scores) -> Scores:
    if aspect.sign is None:
        return scores
    sign = _SIGNS[aspect.sign]
    return {
        place: score * _SIGN_BONUS
        if sign.search(markdown, read[place].piece.start, read[place].piece.end)
        else score
        for place, score in scores.items()
    }


def _with_neighbours(scores: Scores, count: int) -> Scores:
    beside: Scores = {}
    for place, score in scores.items():
        for neighbour in (place - 1, place + 1):
            if 0 <= neighbour < count:
                share = _NEIGHBOUR_SHARE * score
                beside[neighbour] = max(share, beside.get(neighbour, 0.0))
    return {
        place: scores.get(place, 0.0) + beside.get(place, 0.0)
        for place in sorted(scores.keys() | beside.keys())
    }


def _normalised(scores: Scores) -> Scores:
    best = max(scores.values(), default=0.0)
    return {place: score / best for place, score in scores.items()} if best else {}


def _order(by_aspect: Sequence[Scores], total: Mapping[int, float], count: int) -> list[int]:
    """Return the places: the good ones of each aspect in turn, the other hits, and the rest."""
    ranked = [
        sorted(
            (place for place, score in scores.items() if score >= _LEAST_SHARE),
            key=lambda place: (-scores[place], -total[place], place),
        )
        for scores in by_aspect
    ]
    turns = (place for turn in zip_longest(*ranked) for place in turn if place is not None)
    others = sorted(total, key=lambda place: (-total[place], place))
    return list(dict.fromkeys((*turns, *others, *range(count))))


def _put_repetition_last(order: Sequence[int], read: Sequence[_Read]) -> list[int]:
    kept: list[int] = []
    repeated: list[int] = []
    seen: set[frozenset[str]] = set()
    for place in order:
        terms = read[place].terms
        is_near = len(kept) < _COMPARED and any(_are_alike(terms, read[k].terms) for k in kept)
        (repeated if terms in seen or is_near else kept).append(place)
        seen.add(terms)
    return kept + repeated


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(one), len(other)) < _ALIKE * max(len(one), len(other)):
        return False
    shared = len(one & other)
    return shared >= _ALIKE * (len(one) + len(other) - shared)


def _ids(markdown: str, pieces: Sequence[Piece]) -> list[str]:
    return list(_numbered(markdown[piece.start : piece.end] for piece in pieces))


def _numbered(texts: Iterator[str]) -> Iterator[str]:
    """Yield an id for each text, made of what it says; one that is said again has a number."""
    counts: Counter[str] = Counter()
    for text in texts:
        digest = blake2s(text.encode("utf-8", "replace"), digest_size=_ID_BYTES).hexdigest()
        counts[digest] += 1
        yield f"p{digest}" if counts[digest] == 1 else f"p{digest}-{counts[digest]}"


def _passage(markdown: str, piece: Piece, name: str, score: float) -> Passage:
    return Passage(
        id=name,
        heading=piece.heading,
        text=markdown[piece.start : piece.end],
        start=piece.start,
        end=piece.end,
        score=round(score, 4),
        context=piece.context,
    )
