"""Recipes as values: how they are joined, and how they are kept as JSON."""

import json
from pathlib import Path

import pytest

from cinder.models.document import Json
from cinder.models.recipe import (
    FieldRule,
    ListRule,
    Locator,
    Recipe,
    recipe_from_json,
    recipe_to_json,
)

RECIPE = Recipe(
    fields=(
        FieldRule(
            path=("address", "city"),
            locators=(
                Locator(selector="p.city", before="City:", after=","),
                Locator(selector="td", label="city"),
            ),
        ),
        FieldRule(
            path=("when",),
            locators=(Locator(selector="time", attribute="datetime"),),
            format="date",
        ),
    ),
    lists=(
        ListRule(
            path=("tags",),
            selector="ul > li",
            fields=(FieldRule(path=(), locators=(Locator(selector=""),)),),
            label="tags",
            skipped=1,
        ),
    ),
)


GOLDEN = (Path(__file__).parent / "golden" / "recipe.json").read_text()
"""As the version before msgspec wrote it."""


def test_a_stored_recipe_stays_readable_and_is_written_the_same() -> None:
    assert recipe_from_json(json.loads(GOLDEN)) == RECIPE
    assert json.dumps(recipe_to_json(RECIPE), indent=1) + "\n" == GOLDEN


def test_a_recipe_survives_the_way_through_json() -> None:
    assert recipe_from_json(json.loads(json.dumps(recipe_to_json(RECIPE)))) == RECIPE


@pytest.mark.parametrize(
    "data", [None, [], {}, {"fields": 1, "lists": []}, {"fields": [{}], "lists": []}]
)
def test_what_is_no_recipe_is_refused(data: Json) -> None:
    with pytest.raises(ValueError, match="Not a recipe"):
        recipe_from_json(data)


def test_a_newer_recipe_wins_where_both_have_a_rule() -> None:
    newer = Recipe(fields=(FieldRule(path=("when",), locators=(Locator(selector="b"),)),))
    joined = RECIPE.updated_by(newer)
    assert joined.fields == (newer.fields[0], RECIPE.fields[0])
    assert joined.lists == RECIPE.lists
