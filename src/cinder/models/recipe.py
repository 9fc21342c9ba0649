"""Recipes: the learned locations of a schema's fields on the pages of a site, and their JSON."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any

import msgspec

from cinder.models.document import Json
from cinder.models.extraction import ExtractedData

MAX_RECIPES = 3
"""How many recipes are tried on one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """One way to find the element that holds a value, and the value within the element."""

    selector: str = ""
    """Matched in the page, or within a record; empty for the record itself."""
    attribute: str = ""
    """The attribute that holds the value; empty for the element's text."""
    label: str = ""
    """The text right before the element."""
    before: str = ""
    """The part of the element's text before the value."""
    after: str = ""
    """The part of the element's text after the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """Where a field's value is: the first locator decides, and no other may contradict it."""

    path: tuple[str, ...]
    """The names that lead to the field, from the root of the data or of a record."""
    locators: tuple[Locator, ...]
    format: str = ""
    """How the text is parsed where the schema does not say: `date`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRule:
    """Where the records of an array are, and the fields within each of them."""

    path: tuple[str, ...]
    selector: str
    label: str = ""
    """The text right before the element that contains the records."""
    skipped: int = 0
    """How many of the first matches are not records, such as header rows."""
    fields: tuple[FieldRule, ...]
    """A single rule with an empty path where the array holds plain values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The rules for one schema on pages of one kind."""

    fields: tuple[FieldRule, ...] = ()
    lists: tuple[ListRule, ...] = ()

    @property
    def rules(self) -> tuple[FieldRule | ListRule, ...]:
        """All rules, each for a different path of the data."""
        return (*self.fields, *self.lists)

    def updated_by(self, newer: "Recipe") -> "Recipe":
        """Return these rules together with those of a newer recipe, which take precedence."""
        known = {rule.path for rule in newer.rules}
        return Recipe(
            fields=(*newer.fields, *(rule for rule in self.fields if rule.path not in known)),
            lists=(*newer.lists, *(rule for rule in self.lists if rule.path not in known)),
        )


class Trial(StrEnum):
    """The result of trying a recipe on a page."""

    HELD = "held"
    """The values were found, and nothing contradicts them."""
    MISSED = "missed"
    """Most of the values were not found."""
    DISAGREED = "disagreed"
    """The page itself contradicts the recipe beyond doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipePlace:
    """The pages and the extraction spec that a recipe is for."""

    site: str
    """The host, with its port unless that is the scheme's default; without `www.`."""
    shape: str
    """The common pattern of the pages' URLs: `/lamps/*`."""
    wish: str
    """The hash of the schema and the prompt."""
    owner: str | None = None
    """The only caller who may use it; None where all may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRecipe:
    """A stored recipe and its record of successes and failures."""

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


@dataclass(frozen=True, slots=True)
class RecipeTrials:
    """The data that recipes found on a page, and the result of each recipe that was tried."""

    extracted: ExtractedData
    trials: tuple[Trial, ...]
    """In the order of the recipes, up to the first that held."""


def recipe_to_json(recipe: Recipe) -> dict[str, Json]:
    """Return a recipe as JSON; empty parts of locators and empty formats are left out."""
    data: dict[str, Any] = msgspec.to_builtins(recipe)  # Any: nested JSON that is changed below
    records = (rule["fields"] for rule in data["lists"])
    for rule in chain(data["fields"], *records):
        rule["locators"] = [
            {name: part for name, part in locator.items() if part} for locator in rule["locators"]
        ]
        if not rule["format"]:
            del rule["format"]
    return data


def recipe_from_json(data: Json) -> Recipe:
    """Return the recipe that `recipe_to_json` encoded.

    Raises:
        ValueError: the JSON is not a recipe.
    """
    if not isinstance(data, dict) or not {"fields", "lists"} <= data.keys():
        raise ValueError("Not a recipe")
    try:
        return msgspec.convert(data, Recipe)
    except msgspec.ValidationError as exc:
        raise ValueError("Not a recipe") from exc
