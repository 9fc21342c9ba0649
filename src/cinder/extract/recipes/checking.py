"""Tries recipes on a page before anything else, and checks them by what its own rules find."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from cinder.extract.bombs import find_bomb
from cinder.extract.fields.extraction import build_data, extract_fields
from cinder.extract.fields.merging import MAX_EVIDENCE
from cinder.extract.fields.wanted import Wanted, schema_path
from cinder.extract.recipes.applying import Applied, RecipeReader, wanted_at
from cinder.extract.recipes.judging import is_same, is_sure, judge, under
from cinder.extract.recipes.tried import MAX_RECIPES, TriedRecipes
from cinder.model.document import Json
from cinder.model.extracted_data import Conflict, ExtractedData, FieldValue, Path
from cinder.model.recipe import FieldRule, ListRule, Recipe, Trial


def extract_with_recipes(
    html: str | None,
    markdown: str | None,
    *,
    url: str,
    schema: Mapping[str, Json],
    recipes: Sequence[Recipe],
) -> TriedRecipes:
    """Fill a schema from a page: by the first recipe that holds, and by rules for the rest.

    The arguments are those of `extract_fields`; a page that is no HTML is none for a recipe.
    """
    found = extract_fields(html, markdown, url=url, schema=schema)
    if html is None or find_bomb(html):
        return TriedRecipes(found, ())
    reader = RecipeReader(html, markdown, url=url, schema=schema)
    trials = []
    for recipe in recipes[:MAX_RECIPES]:
        applied = reader.apply(recipe)
        trials.append(judge(recipe, applied, found))
        if trials[-1] is Trial.HELD:
            return TriedRecipes(_joined(reader.root, recipe, applied, found), tuple(trials))
    return TriedRecipes(found, tuple(trials))


def _joined(root: Wanted, recipe: Recipe, applied: Applied, found: ExtractedData) -> ExtractedData:
    """Return what a recipe found, with what only the page's own rules did."""
    by_path = {each.path: each for each in found.values}
    filled = [rule for rule in recipe.rules if rule not in applied.missed]
    replaced = [rule.path for rule in filled]

    def is_replaced(path: Path) -> bool:
        return any(path[: len(rule)] == rule for rule in replaced)

    own = [_with_agreeing(each, by_path.get(each.path)) for each in applied.values]
    rest = [each for each in found.values if not is_replaced(each.path)]
    added = [each for rule in recipe.lists for each in _further(rule, applied, found)]
    values = sorted((*own, *rest, *added), key=_order_in(root))
    conflicts = [each for each in found.conflicts if not is_replaced(each.path)]
    conflicts += [
        Conflict(path=each.path, kept=each.value, other=other)
        for each in applied.values
        if (other := by_path.get(each.path)) and not is_same(other.value, each.value)
    ]
    return replace(
        found,
        data=build_data(values, found.data if found.data in ({}, []) else None),
        values=tuple(values),
        missing=tuple(_missing(root, filled, found, values)),
        conflicts=tuple(conflicts),
    )


def _further(rule: ListRule, applied: Applied, found: ExtractedData) -> Iterator[FieldValue]:
    """Yield what else the page's own rules know of the records that a recipe found."""
    depth = len(rule.path) + 1
    own, others = _by_record(applied.values, rule.path), _by_record(found.values, rule.path)
    for record, fields in own.items():
        other = others.get(record, {})
        shared = [path for path in fields if path in other]
        if shared and all(is_same(fields[path].value, other[path].value) for path in shared):
            yield from (each for path, each in other.items() if path not in fields and path[depth:])


def _by_record(values: Sequence[FieldValue], path: Path) -> dict[Path, dict[Path, FieldValue]]:
    found: dict[Path, dict[Path, FieldValue]] = {}
    for each in under(values, path):
        found.setdefault(each.path[: len(path) + 1], {})[each.path] = each
    return found


def _with_agreeing(value: FieldValue, other: FieldValue | None) -> FieldValue:
    """Return a value with the evidence of both; what rules are sure of needs no recipe."""
    if other is None or not is_same(value.value, other.value):
        return value
    both = (other, value) if is_sure(other) else (value, other)
    evidence = [each for found in both for each in found.evidence]
    return replace(value, evidence=tuple(evidence[:MAX_EVIDENCE]))


def _missing(
    root: Wanted,
    filled: Sequence[FieldRule | ListRule],
    found: ExtractedData,
    values: Sequence[FieldValue],
) -> Iterator[str]:
    """Yield the fields without a value, those of the records that a recipe found among them."""
    told = {schema_path(each.path) for each in values}
    named = dict.fromkeys((*found.missing, *(schema_path(each.path) for each in found.values)))
    for rule in filled:
        wanted = wanted_at(root, rule.path)
        if isinstance(rule, ListRule) and wanted is not None:
            named |= dict.fromkeys(each.path for each in wanted.item.children if each.is_scalar)
    for path in named:
        if not any(each == path or each.startswith((f"{path}.", f"{path}[]")) for each in told):
            yield path


def _order_in(root: Wanted) -> Callable[[FieldValue], tuple[int, ...]]:
    """Return what sorts values as the schema has their fields."""

    def place(value: FieldValue) -> tuple[int, ...]:
        wanted, places = root, []
        for part in value.path:
            if isinstance(part, int):
                places.append(part)
                wanted = wanted.item if wanted.children else wanted
            else:
                names = [child.name for child in wanted.children]
                places.append(names.index(part) if part in names else len(names))
                wanted = wanted.children[places[-1]] if part in names else wanted
        return tuple(places)

    return place
