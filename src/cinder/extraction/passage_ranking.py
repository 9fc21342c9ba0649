"""Ranks the passages of a page by the fields and the prompt of an extraction."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2s
from itertools import islice, zip_longest

from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.synonyms import is_light, plain_words_of, synonyms_of, words_of
from cinder.extraction.values import wants_date
from cinder.models.extraction import PassageQuery, QueriedField, RankedPassage, ValueSign
from cinder.text.passages import TextChunk, split_chunks
from cinder.text.terms import find_query_terms, find_terms

_FIGURES = (FieldKind.NUMBER, FieldKind.INTEGER)
_EMAIL = frozenset(words_of("email"))
_PHONE = frozenset(words_of("phone"))


def build_passage_query(prompt: str, fields: Iterable[FieldSpec]) -> PassageQuery:
    """Return the question that a prompt and some fields are; of a list, what its items have too."""
    asked = tuple(_asked_field(each) for field in fields for each in _with_items(field))
    return PassageQuery(prompt=prompt, fields=asked)


def _with_items(field: FieldSpec) -> Iterable[FieldSpec]:
    if field.kind is not FieldKind.ARRAY:
        return (field,)
    return (field, *(child for child in field.item.children if child.is_scalar))


def _asked_field(field: FieldSpec) -> QueriedField:
    within = " ".join(field.path.replace("[]", "").split("."))
    return QueriedField(
        name=within or field.name, description=field.description_text, sign=_sign_of(field)
    )


def _sign_of(field: FieldSpec) -> ValueSign | None:
    if field.format in ("email", "idn-email") or not _EMAIL.isdisjoint(field.words):
        return ValueSign.AT
    has_figures = field.kind in _FIGURES or wants_date(field)
    return ValueSign.FIGURE if has_figures or not _PHONE.isdisjoint(field.words) else None


MAX_ASPECTS = 100

_MAX_TERMS = 64
_MAX_DESCRIPTION_CHARS = 500
_MAX_PROMPT_CHARS = 2_000
_NAME, _MEANING, _DESCRIPTION, _SYNONYM = 1.0, 1.0, 0.5, 0.4
# What a light word, such as a unit or a filler, has of the weight of another.
_LIGHT_WORD_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class QueryAspect:
    """What a passage may be about: terms with their weights."""

    terms: dict[str, float]
    sign: ValueSign | None = None


def find_aspects(query: PassageQuery) -> list[QueryAspect]:
    """Return the aspects of a question; none where it has no words."""
    prompt = _weigh(find_query_terms(query.prompt[:_MAX_PROMPT_CHARS]), 1.0)
    aspects = [
        QueryAspect(prompt),
        *(_aspect_of(each) for each in islice(query.fields, MAX_ASPECTS)),
    ]
    return [aspect for aspect in aspects if aspect.terms]


def _aspect_of(field: QueriedField) -> QueryAspect:
    terms: dict[str, float] = {}
    described = find_query_terms(field.description[:_MAX_DESCRIPTION_CHARS])
    for found, weight in (
        (plain_words_of(field.name), _NAME),
        (words_of(field.name), _MEANING),
        (described, _DESCRIPTION),
        (synonyms_of(field.name), _SYNONYM),
    ):
        for term, weighed in _weigh(found, weight).items():
            terms[term] = max(weighed, terms.get(term, 0.0))
    return QueryAspect(terms, field.sign)


def _weigh(terms: tuple[str, ...] | set[str], weight: float) -> dict[str, float]:
    return {
        term: weight * (_LIGHT_WORD_WEIGHT if is_light(term) else 1.0) for term in _bounded(terms)
    }


def _bounded(terms: tuple[str, ...] | set[str]) -> Iterator[str]:
    return islice(terms if isinstance(terms, tuple) else sorted(terms), _MAX_TERMS)


# The usual constants of BM25: how soon a repeated word stops counting, and how much length does.
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
_HEADING_WEIGHT = 0.5
# What a passage has of the score of the one before or after it, which may name what it tells.
_NEIGHBOUR_SHARE = 0.2
# How much more a passage counts that has the sign of a value.
_SIGN_BONUS = 1.25
# What scores less than this part of an aspect's best waits until every aspect had its turn.
_MIN_SCORE_SHARE = 0.3
# Repetition is looked for among so many of the first; further on only exact repetition counts.
_COMPARED = 64
_MIN_SIMILARITY = 0.8
_ID_BYTES = 5
_SIGNS = {ValueSign.FIGURE: re.compile(r"\d"), ValueSign.AT: re.compile("@")}

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class _ChunkTerms:
    """A piece, what it has of the wanted terms, and what tells it from others."""

    piece: TextChunk
    found: Mapping[str, float]
    length: int
    terms: frozenset[str]


def rank_passages(markdown: str, query: PassageQuery, limit: int) -> tuple[RankedPassage, ...]:
    """Return the passages of a text that most likely hold what is asked for, the best first.

    Each aspect of the question has its turn, and what repeats a better passage comes late. What
    matches nothing comes last, in the order of the page, with a score of 0.
    """
    aspects = find_aspects(query)
    wanted = {term for aspect in aspects for term in aspect.terms}
    heading_terms = lru_cache(maxsize=1_000)(lambda heading: frozenset(find_terms(heading)))
    read = [
        _read_chunk(markdown, piece, wanted, heading_terms(piece.heading))
        for piece in split_chunks(markdown)
    ]
    by_aspect = _score_aspects(markdown, read, aspects)
    total: defaultdict[int, float] = defaultdict(float)
    for scores in by_aspect:
        for place, score in scores.items():
            total[place] += score / len(by_aspect)
    ids = _ids(markdown, [each.piece for each in read])
    order = _near_duplicates_last(_order(by_aspect, total, len(read)), read)[:limit]
    return tuple(
        _passage(markdown, read[place].piece, ids[place], total.get(place, 0.0)) for place in order
    )


def _read_chunk(
    markdown: str, piece: TextChunk, wanted: set[str], above: frozenset[str]
) -> _ChunkTerms:
    terms = list(find_terms(markdown[piece.start : piece.end]))
    every = Counter(terms)
    found: dict[str, float] = {term: every[term] for term in every.keys() & wanted}
    for term in above & wanted:
        found[term] = found.get(term, 0) + _HEADING_WEIGHT
    return _ChunkTerms(piece, found, len(terms), frozenset(every))


def _score_aspects(
    markdown: str, read: Sequence[_ChunkTerms], aspects: Sequence[QueryAspect]
) -> list[Scores]:
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


def _signed(
    markdown: str, read: Sequence[_ChunkTerms], aspect: QueryAspect, scores: Scores
) -> Scores:
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
            (place for place, score in scores.items() if score >= _MIN_SCORE_SHARE),
            key=lambda place: (-scores[place], -total[place], place),
        )
        for scores in by_aspect
    ]
    turns = (place for turn in zip_longest(*ranked) for place in turn if place is not None)
    others = sorted(total, key=lambda place: (-total[place], place))
    return list(dict.fromkeys((*turns, *others, *range(count))))


def _near_duplicates_last(order: Sequence[int], read: Sequence[_ChunkTerms]) -> list[int]:
    kept: list[int] = []
    repeated: list[int] = []
    seen: set[frozenset[str]] = set()
    for place in order:
        terms = read[place].terms
        is_near = len(kept) < _COMPARED and any(
            _are_near_duplicates(terms, read[k].terms) for k in kept
        )
        (repeated if terms in seen or is_near else kept).append(place)
        seen.add(terms)
    return kept + repeated


def _are_near_duplicates(one: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(one), len(other)) < _MIN_SIMILARITY * max(len(one), len(other)):
        return False
    shared = len(one & other)
    return shared >= _MIN_SIMILARITY * (len(one) + len(other) - shared)


def _ids(markdown: str, pieces: Sequence[TextChunk]) -> list[str]:
    return list(_numbered(markdown[piece.start : piece.end] for piece in pieces))


def _numbered(texts: Iterator[str]) -> Iterator[str]:
    """Yield an id for each text, made of what it says; one that is said again has a number."""
    counts: Counter[str] = Counter()
    for text in texts:
        digest = blake2s(text.encode("utf-8", "replace"), digest_size=_ID_BYTES).hexdigest()
        counts[digest] += 1
        yield f"p{digest}" if counts[digest] == 1 else f"p{digest}-{counts[digest]}"


def _passage(markdown: str, piece: TextChunk, name: str, score: float) -> RankedPassage:
    return RankedPassage(
        id=name,
        heading=piece.heading,
        text=markdown[piece.start : piece.end],
        start=piece.start,
        end=piece.end,
        score=round(score, 4),
        context=piece.context,
    )
