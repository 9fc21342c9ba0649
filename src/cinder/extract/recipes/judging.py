"""Judges a recipe's values by what a page's own rules found."""

from collections.abc import Iterator, Sequence

from cinder.extract.html_tree import collapse
from cinder.extract.recipes.applying import Applied
from cinder.model.document import Json
from cinder.model.extracted_data import ExtractedData, FieldValue, Path
from cinder.model.recipe import FieldRule, ListRule, Recipe, Trial

# What the page's own rules found counts as beyond doubt from here on.
SURE = 0.85


def judge(recipe: Recipe, applied: Applied, found: ExtractedData) -> Trial:
    """Return what a recipe's values show about it: most of them must be there, and none wrong."""
    if any(is_contradicted(rule, applied, found) for rule in recipe.rules):
        return Trial.DISAGREED
    hits = len(recipe.rules) - len(applied.missed)
    return Trial.HELD if hits and hits * 2 >= len(recipe.rules) else Trial.MISSED


def is_contradicted(rule: FieldRule | ListRule, applied: Applied, found: ExtractedData) -> bool:
    """Whether the page's own rules are sure of something else than a rule gives.

    Of records, most must be among those that the rule gives, wherever they stand.
    """
    told = list(under(applied.values, rule.path))
    sure = [each for each in under(found.values, rule.path) if is_sure(each)]
    if isinstance(rule, ListRule):
        names = {field.path for field in rule.fields}
        compared = [each for each in sure if each.path[len(rule.path) + 1 :] in names]
        given = {_key(each.value) for each in told}
        known = sum(_key(each.value) in given for each in compared)
        return bool(told) and known * 2 < len(compared)
    return any(not is_same(one.value, other.value) for one in told for other in sure)


def under(values: Sequence[FieldValue], path: Path) -> Iterator[FieldValue]:
    """Yield the values at a path and beneath it."""
    return (each for each in values if each.path[: len(path)] == path)


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are equal; white space of texts does not count."""
    return _key(one) == _key(other)


def _key(value: Json) -> tuple[bool, Json]:
    return isinstance(value, bool), collapse(value) if isinstance(value, str) else value


def is_sure(value: FieldValue) -> bool:
    """Whether the page proves a value, and what it is called fits beyond doubt."""
    return value.is_grounded and value.score >= SURE
