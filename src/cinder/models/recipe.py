"""Recipes: the learned locations of a schema's fields on the pages of a site, and their JSON."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cinder.models.document import Json
from cinder.models.extraction import ExtractedData, FieldValue, Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """One way to the element that says a value, and to the part of it that does."""

    selector: str
    """From the page, or within a record; empty for the record itself."""
    attribute: str = ""
    """Which attribute says it; its text where none is named."""
    label: str = ""
    """What stands right before the element."""
    before: str = ""
    """What stands before the value in the element's text."""
    after: str = ""
    """What stands after the value in the element's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """Where a field's value stands: by the first locator, and the others must not contradict it."""

    path: tuple[str, ...]
    """The names that lead to the field: from the data's root, or from a record's."""
    locators: tuple[Locator, ...]
    format: str = ""
    """As what its text is read where the schema leaves that open: `date`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRule:
    """Where the records of an array stand, and within each of them its fields."""

    path: tuple[str, ...]
    selector: str
    fields: tuple[FieldRule, ...]
    """One without names where the array holds plain values."""
    label: str = ""
    """What stands right before the element that holds the records."""
    skipped: int = 0
    """How many of the first records are none: rows of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The rules for one schema on pages of one kind."""

    fields: tuple[FieldRule, ...] = ()
    lists: tuple[ListRule, ...] = ()

    @property
    def rules(self) -> tuple[FieldRule | ListRule, ...]:
        """All rules, each for another place of the data."""
        return (*self.fields, *self.lists)

    def updated_by(self, newer: "Recipe") -> "Recipe":
        """Return these rules with those of a newer recipe, which win where both have one."""
        known = {rule.path for rule in newer.rules}
        return Recipe(
            fields=(*newer.fields, *(each for each in self.fields if each.path not in known)),
            lists=(*newer.lists, *(each for each in self.lists if each.path not in known)),
        )


class Trial(StrEnum):
    """What trying a recipe on a page showed."""

    HELD = "held"
    """It found what it is for, and nothing contradicts it."""
    MISSED = "missed"
    """Most of what it is for was not there."""
    DISAGREED = "disagreed"
    """The page itself says otherwise, beyond doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipePlace:
    """Which pages and which wish a recipe is for."""

    site: str
    """The host, with a port that is not the scheme's; a `www.` before it does not count."""
    shape: str
    """What the addresses of such pages have in common: `/lamps/*`."""
    wish: str
    """The hash of the schema and the prompt."""
    owner: str | None = None
    """The caller who alone may use it; None where all may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRecipe:
    """A recipe as it is kept, and how it has fared."""

    id: int
    place: RecipePlace
    summary: str
    """The fields of the schema."""
    recipe: Recipe
    learned_from: str
    """The page it was last learned from."""
    created_at: datetime
    used_at: datetime
    """When it was last tried, or learned."""
    uses: int
    successes: int
    failures: int
    """How many in a row."""


def recipe_to_json(recipe: Recipe) -> dict[str, Json]:
    """Return a recipe as it is kept and shown; what a locator does not use is left out."""
    return {
        "fields": [_field_to_json(each) for each in recipe.fields],
        "lists": [
            {
                "path": list(each.path),
                "selector": each.selector,
                "label": each.label,
                "skipped": each.skipped,
                "fields": [_field_to_json(field) for field in each.fields],
            }
            for each in recipe.lists
        ],
    }


def recipe_from_json(said: Json) -> Recipe:
    """Return the recipe that `recipe_to_json` made this of.

    Raises:
        ValueError: it has not that shape.
    """
    try:
        table = _table(said)
        return Recipe(
            fields=tuple(_read_field(each) for each in _list(table["fields"])),
            lists=tuple(_read_list(each) for each in _list(table["lists"])),
        )
    except (KeyError, TypeError) as exc:
        raise ValueError("Not a recipe") from exc


_LOCATOR_PARTS = ("selector", "attribute", "label", "before", "after")


def _field_to_json(rule: FieldRule) -> dict[str, Json]:
    locators: list[Json] = [
        {name: said for name in _LOCATOR_PARTS if (said := getattr(each, name))}
        for each in rule.locators
    ]
    told: dict[str, Json] = {"path": list(rule.path), "locators": locators}
    return {**told, "format": rule.format} if rule.format else told


def _read_list(said: Json) -> ListRule:
    table = _table(said)
    return ListRule(
        path=_names(table["path"]),
        selector=str(table["selector"]),
        fields=tuple(_read_field(each) for each in _list(table["fields"])),
        label=str(table["label"]),
        skipped=int(str(table["skipped"])),
    )


def _read_field(said: Json) -> FieldRule:
    table = _table(said)
    return FieldRule(
        path=_names(table["path"]),
        locators=tuple(_read_locator(_table(each)) for each in _list(table["locators"])),
        format=str(table.get("format", "")),
    )


def _read_locator(table: dict[str, Json]) -> Locator:
    parts = {name: str(table.get(name, "")) for name in _LOCATOR_PARTS}
    return Locator(**parts)


def _names(said: Json) -> tuple[str, ...]:
    return tuple(str(name) for name in _list(said))


def _table(said: Json) -> dict[str, Json]:
    if not isinstance(said, dict):
        raise TypeError("table expected")
    return said


def _list(said: Json) -> list[Json]:
    if not isinstance(said, list):
        raise TypeError("list expected")
    return said


MAX_RECIPES = 3
"""How many are tried on one page."""

SURE_SCORE = 0.85
"""Values of rule-based extraction with this score or more are treated as certain."""

_FOUND_ONCE = frozenset((Method.MODEL, Method.CALLER, Method.RECIPE))
# Extraction finds these again without a recipe.
_DECLARED = frozenset((Method.JSON_LD, Method.MICRODATA, Method.META))


def is_worth_learning(value: FieldValue) -> bool:
    """Whether a value is grounded and sure, and not found as easily without a recipe."""
    if not value.is_grounded or value.value is None:
        return False
    methods = {each.method for each in value.evidence}
    if not methods.isdisjoint(_FOUND_ONCE):
        return True
    return value.score >= SURE_SCORE and methods.isdisjoint(_DECLARED)


@dataclass(frozen=True, slots=True)
class RecipeTrials:
    """What a page holds, and how each recipe fared that was tried for it."""

    extracted: ExtractedData
    trials: tuple[Trial, ...]
    """In the order of the recipes, up to the first that held."""
