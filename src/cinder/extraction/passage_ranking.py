"""Ranks the passages of a page by the fields and the prompt of an extraction."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2s
from itertools import islice, zip_longest

from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.synonyms import is_light, plain_words_of, synonyms_of, words_of
from cinder.models.extraction import PassageQuery, QueriedField, RankedPassage, ValueSign
from cinder.text.bm25 import Bm25
from cinder.text.passages import TextChunk, split_chunks
from cinder.text.terms import find_query_terms, find_terms

_FIGURES = (FieldKind.NUMBER, FieldKind.INTEGER)
_EMAIL = frozenset(words_of("email"))
_PHONE = frozenset(words_of("phone"))


def build_passage_query(prompt: str, fields: Iterable[FieldSpec]) -> PassageQuery:
    """Return the query for a prompt and some fields; a list adds the fields of its items."""
    queried = []
    for field in fields:
        is_list = field.kind is FieldKind.ARRAY
        children = [child for child in field.item.children if child.is_scalar] if is_list else []
        for each in (field, *children):
            name = " ".join(each.path.replace("[]", "").split(".")) or each.name
            sign = None
            if each.format in ("email", "idn-email") or not _EMAIL.isdisjoint(each.words):
                sign = ValueSign.AT
            elif each.kind in _FIGURES or each.holds_date or not _PHONE.isdisjoint(each.words):
                sign = ValueSign.FIGURE
            queried.append(QueriedField(name=name, description=each.description_text, sign=sign))
    return PassageQuery(prompt=prompt, fields=tuple(queried))


MAX_ASPECTS = 100

_MAX_TERMS = 64
_MAX_DESCRIPTION_CHARS = 500
_MAX_PROMPT_CHARS = 2_000
_NAME, _MEANING, _DESCRIPTION, _SYNONYM = 1.0, 1.0, 0.5, 0.4
# The relative weight of a light word, such as a unit or a filler.
_LIGHT_WORD_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class QueryAspect:
    """A topic of the query: terms with their weights."""

    terms: dict[str, float]
    sign: ValueSign | None = None


def find_aspects(query: PassageQuery) -> list[QueryAspect]:
    """Return the aspects of a query; none if it has no words."""
    prompt = _weigh(sorted(find_query_terms(query.prompt[:_MAX_PROMPT_CHARS])), 1.0)
    aspects = [QueryAspect(prompt)]
    for field in islice(query.fields, MAX_ASPECTS):
        described = find_query_terms(field.description[:_MAX_DESCRIPTION_CHARS])
        terms: dict[str, float] = {}
        for found, weight in (
            (plain_words_of(field.name), _NAME),
            (words_of(field.name), _MEANING),
            (sorted(described), _DESCRIPTION),
            (synonyms_of(field.name), _SYNONYM),
        ):
            for term, weighed in _weigh(found, weight).items():
                terms[term] = max(weighed, terms.get(term, 0.0))
        aspects.append(QueryAspect(terms, field.sign))
    return [aspect for aspect in aspects if aspect.terms]


def _weigh(terms: Sequence[str], weight: float) -> dict[str, float]:
    return {
        term: weight * (_LIGHT_WORD_WEIGHT if is_light(term) else 1.0)
        for term in terms[:_MAX_TERMS]
    }


_HEADING_WEIGHT = 0.5
# The share of its neighbours' scores that a passage gets: they may name what it is about.
_NEIGHBOUR_SHARE = 0.2
# The factor for passages with the sign of a value.
_SIGN_BONUS = 1.25
# Passages below this share of an aspect's best score come after the good ones of all aspects.
_MIN_SCORE_SHARE = 0.3
# Near duplicates are searched for among the first so many; after that only exact duplicates.
_COMPARED = 64
_MIN_SIMILARITY = 0.8
_ID_BYTES = 5
_SIGNS = {ValueSign.FIGURE: re.compile(r"\d"), ValueSign.AT: re.compile("@")}

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class _ChunkTerms:
    """A chunk, its counts of the query's terms, its length and all its terms."""

    chunk: TextChunk
    found: Mapping[str, float]
    length: int
    terms: frozenset[str]


def rank_passages(markdown: str, query: PassageQuery, limit: int) -> tuple[RankedPassage, ...]:
    """Return the passages of a text that most likely have what is asked for, the best first.

    The best passages of each aspect come in turn, and near duplicates of a better passage come
    late. Passages that match nothing come last, in the order of the page, with a score of 0.
    """
    aspects = find_aspects(query)
    queried = {term for aspect in aspects for term in aspect.terms}
    heading_terms = lru_cache(maxsize=1_000)(lambda heading: frozenset(find_terms(heading)))
    chunks: list[_ChunkTerms] = []
    for chunk in split_chunks(markdown):
        terms = list(find_terms(markdown[chunk.start : chunk.end]))
        counts = Counter(terms)
        found: dict[str, float] = {term: counts[term] for term in counts.keys() & queried}
        for term in heading_terms(chunk.heading) & queried:
            found[term] = found.get(term, 0) + _HEADING_WEIGHT
        chunks.append(_ChunkTerms(chunk, found, len(terms), frozenset(counts)))
    by_aspect = _score_aspects(markdown, chunks, aspects)
    total: defaultdict[int, float] = defaultdict(float)
    for scores in by_aspect:
        for position, score in scores.items():
            total[position] += score / len(by_aspect)
    ids: list[str] = []
    # A hash of the text; repeated texts get a number.
    repeats: Counter[str] = Counter()
    for each in chunks:
        text = markdown[each.chunk.start : each.chunk.end]
        digest = blake2s(text.encode("utf-8", "replace"), digest_size=_ID_BYTES).hexdigest()
        repeats[digest] += 1
        ids.append(f"p{digest}" if repeats[digest] == 1 else f"p{digest}-{repeats[digest]}")
    order = _near_duplicates_last(_order(by_aspect, total, len(chunks)), chunks)[:limit]
    return tuple(
        RankedPassage(
            id=ids[position],
            heading=chunk.heading,
            text=markdown[chunk.start : chunk.end],
            start=chunk.start,
            end=chunk.end,
            score=round(total.get(position, 0.0), 4),
            context=chunk.context,
        )
        for position in order
        for chunk in (chunks[position].chunk,)
    )


def _score_aspects(
    markdown: str, chunks: Sequence[_ChunkTerms], aspects: Sequence[QueryAspect]
) -> list[Scores]:
    """Return the scores of the chunks by each aspect; the best of an aspect is 1."""
    model = Bm25((each.found for each in chunks), [each.length for each in chunks])
    weights: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, aspect in enumerate(aspects):
        for term, weight in aspect.terms.items():
            weights[term].append((number, weight))
    scores: list[Scores] = [{} for _ in aspects]
    for position, each in enumerate(chunks):
        for term in sorted(each.found):
            gain = model.score(term, each.found[term], each.length)
            for number, weight in weights[term]:
                scores[number][position] = scores[number].get(position, 0.0) + weight * gain
    adjusted = []
    for aspect, found in zip(aspects, scores, strict=True):
        if aspect.sign is not None:
            sign = _SIGNS[aspect.sign]
            for position in found:
                chunk = chunks[position].chunk
                if sign.search(markdown, chunk.start, chunk.end):
                    found[position] *= _SIGN_BONUS
        with_neighbours = _with_neighbours(found, len(chunks))
        best = max(with_neighbours.values(), default=0.0)
        adjusted.append({n: score / best for n, score in with_neighbours.items()} if best else {})
    return adjusted


def _with_neighbours(scores: Scores, count: int) -> Scores:
    shares: Scores = {}
    for position, score in scores.items():
        for neighbour in (position - 1, position + 1):
            if 0 <= neighbour < count:
                share = _NEIGHBOUR_SHARE * score
                shares[neighbour] = max(share, shares.get(neighbour, 0.0))
    return {
        position: scores.get(position, 0.0) + shares.get(position, 0.0)
        for position in sorted(scores.keys() | shares.keys())
    }


def _order(by_aspect: Sequence[Scores], total: Mapping[int, float], count: int) -> list[int]:
    """Return the positions: the good ones of each aspect in turn, the other hits, and the rest."""
    ranked = [
        sorted(
            (position for position, score in scores.items() if score >= _MIN_SCORE_SHARE),
            key=lambda position: (-scores[position], -total[position], position),
        )
        for scores in by_aspect
    ]
    turns = (position for turn in zip_longest(*ranked) for position in turn if position is not None)
    others = sorted(total, key=lambda position: (-total[position], position))
    return list(dict.fromkeys((*turns, *others, *range(count))))


def _near_duplicates_last(order: Sequence[int], chunks: Sequence[_ChunkTerms]) -> list[int]:
    kept: list[int] = []
    repeated: list[int] = []
    seen: set[frozenset[str]] = set()
    for position in order:
        terms = chunks[position].terms
        is_near = len(kept) < _COMPARED and any(
            _are_near_duplicates(terms, chunks[k].terms) for k in kept
        )
        (repeated if terms in seen or is_near else kept).append(position)
        seen.add(terms)
    return kept + repeated


def _are_near_duplicates(one: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(one), len(other)) < _MIN_SIMILARITY * max(len(one), len(other)):
        return False
    shared = len(one & other)
    return shared >= _MIN_SIMILARITY * (len(one) + len(other) - shared)
