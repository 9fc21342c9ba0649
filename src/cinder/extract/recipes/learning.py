"""Learns a recipe from a page and the values that were proved by it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from cinder.extract.bombs import find_bomb
from cinder.extract.fields.extraction import extract_fields
from cinder.extract.recipes.applying import Applied, RecipeReader, wanted_at
from cinder.extract.recipes.field_learning import FieldLearner
from cinder.extract.recipes.judging import SURE, is_contradicted
from cinder.extract.recipes.list_learning import ListLearner
from cinder.extract.recipes.locating import PlaceFinder
from cinder.model.document import Json
from cinder.model.extracted_data import ExtractedData, FieldValue, Method, Path
from cinder.model.recipe import FieldRule, ListRule, Recipe

MAX_FIELDS = 100
MAX_LISTS = 10
_FOUND_ONCE = frozenset((Method.MODEL, Method.CALLER, Method.RECIPE))
# Found again wherever they stand, without a recipe.
_DECLARED = frozenset((Method.JSON_LD, Method.MICRODATA, Method.META))


def learn_recipe(
    html: str,
    markdown: str | None,
    *,
    url: str,
    schema: Mapping[str, Json],
    values: Sequence[FieldValue],
) -> Recipe:
    """Return the rules by which the page gives these values again; none for what it does not.

    Args:
        html: the page as it came, decoded.
        markdown: what cinder saves of it.
        url: where the page came from.
        schema: a valid JSON Schema.
        values: what was found for the schema; only what the page proves is learned from.
    """
    if find_bomb(html):
        return Recipe()
    reader = RecipeReader(html, markdown, url=url, schema=schema)
    learner = _Learner(reader, PlaceFinder(reader.index.page, markdown))
    recipe = Recipe(
        fields=tuple(learner.learn_fields(values)), lists=tuple(learner.learn_lists(values))
    )
    return _undisputed(
        recipe, reader.apply(recipe), extract_fields(html, markdown, url=url, schema=schema)
    )


class _Learner:
    def __init__(self, reader: RecipeReader, finder: PlaceFinder) -> None:
        self._root = reader.root
        self._finder = finder
        self._fields = FieldLearner(reader)
        self._lists = ListLearner(reader, finder, self._fields)

    def learn_fields(self, values: Sequence[FieldValue]) -> Iterator[FieldRule]:
        for path, value in _single_values(values)[:MAX_FIELDS]:
            wanted = wanted_at(self._root, path)
            if wanted is not None and wanted.is_scalar:
                places = self._finder.places_of(value)
                yield from islice(self._fields.rules_for(path, wanted, value, places), 1)

    def learn_lists(self, values: Sequence[FieldValue]) -> Iterator[ListRule]:
        for path, records in islice(_records(values).items(), MAX_LISTS):
            wanted = wanted_at(self._root, path)
            rule = self._lists.learn(path, wanted, records) if wanted and records else None
            if rule is not None:
                yield rule


def _undisputed(recipe: Recipe, applied: Applied, found: ExtractedData) -> Recipe:
    """Return a recipe without what would be dropped on the very page that it was learned from."""
    return Recipe(
        fields=tuple(each for each in recipe.fields if not is_contradicted(each, applied, found)),
        lists=tuple(each for each in recipe.lists if not is_contradicted(each, applied, found)),
    )


def _single_values(values: Sequence[FieldValue]) -> list[tuple[tuple[str, ...], FieldValue]]:
    found = []
    for value in values:
        names = tuple(part for part in value.path if isinstance(part, str))
        if len(names) == len(value.path) and is_worth_learning(value):
            found.append((names, value))
    return found


Records = dict[int, dict[tuple[str, ...], FieldValue]]


def _records(values: Sequence[FieldValue]) -> dict[tuple[str, ...], Records | None]:
    """Return the values of arrays by where those stand; None where one cannot be learned whole."""
    found: dict[tuple[str, ...], Records | None] = {}
    for value in values:
        split = _split_at_place(value.path)
        if split is None:
            continue
        names, place, below = split
        records = found.setdefault(names, {})
        if below is None or not is_worth_learning(value):
            found[names] = None
        elif records is not None:
            records.setdefault(place, {})[below] = value
    return found


def _split_at_place(
    path: Path,
) -> tuple[tuple[str, ...], int, tuple[str, ...] | None] | None:
    """Return what leads to an array, the place in it, and what follows if that are names only."""
    names: list[str] = []
    for position, part in enumerate(path):
        if isinstance(part, int):
            below = tuple(each for each in path[position + 1 :] if isinstance(each, str))
            is_plain = len(below) == len(path) - position - 1
            return tuple(names), part, below if is_plain else None
        names.append(part)
    return None


def is_worth_learning(value: FieldValue) -> bool:
    """Whether a value is proved by its page, sure, and not found as easily without a recipe."""
    if not value.is_grounded or value.value is None:
        return False
    methods = {each.method for each in value.evidence}
    if not methods.isdisjoint(_FOUND_ONCE):
        return True
    return value.score >= SURE and methods.isdisjoint(_DECLARED)
