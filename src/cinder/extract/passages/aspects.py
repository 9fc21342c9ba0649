"""The aspects of a question: the prompt, and each field with other words for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from cinder.extract.fields.words import is_light, plain_words_of, synonyms_of, words_of
from cinder.extract.reading.terms import find_query_terms
from cinder.model.passage import AskedField, PassageQuery, Sign

MAX_ASPECTS = 100

_MAX_TERMS = 64
_MAX_DESCRIPTION_CHARS = 500
_MAX_PROMPT_CHARS = 2_000
_NAME, _MEANING, _DESCRIPTION, _SYNONYM = 1.0, 1.0, 0.5, 0.4
# What a light word, such as a unit or a filler, has of the weight of another.
_LIGHT = 0.25


@dataclass(frozen=True, slots=True)
class Aspect:
    """What a passage may be about: terms with their weights."""

    terms: dict[str, float]
    sign: Sign | None = None


def find_aspects(query: PassageQuery) -> list[Aspect]:
    """Return the aspects of a question; none where it has no words."""
    prompt = _weigh(find_query_terms(query.prompt[:_MAX_PROMPT_CHARS]), 1.0)
    aspects = [Aspect(prompt), *(_aspect_of(each) for each in islice(query.fields, MAX_ASPECTS))]
    return [aspect for aspect in aspects if aspect.terms]


def _aspect_of(field: AskedField) -> Aspect:
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
    return Aspect(terms, field.sign)


def _weigh(terms: tuple[str, ...] | set[str], weight: float) -> dict[str, float]:
    return {term: weight * (_LIGHT if is_light(term) else 1.0) for term in _bounded(terms)}


def _bounded(terms: tuple[str, ...] | set[str]) -> Iterator[str]:
    return islice(terms if isinstance(terms, tuple) else sorted(terms), _MAX_TERMS)
