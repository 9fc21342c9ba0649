"""`cinder recipe`, run as a person runs it, on what a store has learned."""

import asyncio
import json
from pathlib import Path

import pytest

from cinder.models.recipe import FieldRule, ListRule, Locator, Recipe, RecipePlace
from cinder.store import open_store
from cinder.store.recipe_book import NewRecipe, RecipeLimits
from tests.cli.commands import Commands, free_port

RECIPE = Recipe(
    fields=(
        FieldRule(
            path=("offer", "price"),
            locators=(
                Locator(selector="span.price"),
                Locator(selector="td", label="price", before="$", after="each"),
            ),
        ),
        FieldRule(
            path=("since",),
            locators=(Locator(selector="time", attribute="datetime"),),
            format="date",
        ),
    ),
    lists=(
        ListRule(
            path=("tags",),
            selector="ul > li",
            label="tags",
            fields=(FieldRule(path=(), locators=(Locator(selector=""),)),),
        ),
    ),
)


@pytest.fixture
async def commands(tmp_path: Path) -> Commands:
    """A data directory with three recipes, on two sites."""
    (tmp_path / "data").mkdir()
    url = f"sqlite:///{tmp_path / 'data' / 'cinder.db'}"
    async with open_store(url, pool_size=1, observe=lambda _name, _seconds: None) as store:
        for site, owner in (("shop.example", None), ("inn.example", None), ("inn.example", "her")):
            place = RecipePlace(site=site, shape="/lamps/*", wish="wish", owner=owner)
            new = NewRecipe(
                place=place,
                summary="offer.price, since, tags",
                recipe=RECIPE,
                learned_from=f"https://{site}/lamps/1",
            )
            kept = await store.recipes.keep(new, RecipeLimits(most=10, days=10))
        await store.recipes.note_success(kept.id)
        await store.recipes.note_failure(kept.id, 5)
    return Commands(folder=tmp_path, allow="127.0.0.1:1", server_port=free_port())


async def test_recipes_are_listed_newest_first(commands: Commands) -> None:
    done = await commands.run("recipe", "list")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["3", "inn.example/lamps/*"],
        ["2", "inn.example/lamps/*"],
        ["1", "shop.example/lamps/*"],
    ]
    assert "held on 1 of 2 pages, failed 1 in a row" in lines[0]
    assert lines[0].endswith("only for her")
    assert "offer.price, since, tags" in lines[2]


async def test_a_list_can_be_narrowed_and_continued(commands: Commands) -> None:
    of_site, first = await asyncio.gather(
        commands.run("recipe", "list", "--site", "https://www.shop.example/lamps/7"),
        commands.run("recipe", "list", "--limit", "1", "--before", "3"),
    )
    assert [line.split()[0] for line in of_site.out.splitlines()] == ["1"]
    assert [line.split()[0] for line in first.out.splitlines()] == ["2"]
    assert first.err.strip() == "More: --before 2"


async def test_a_list_as_json_has_all_that_is_kept(commands: Commands) -> None:
    done = await commands.run("recipe", "list", "--json")
    shown = json.loads(done.out)
    assert [each["id"] for each in shown] == [3, 2, 1]
    assert (shown[0]["owner"], shown[0]["uses"], shown[0]["failuresInARow"]) == ("her", 2, 1)
    assert shown[2]["recipe"]["fields"][0]["locators"][0] == {"selector": "span.price"}


async def test_a_recipe_is_shown_field_by_field(commands: Commands) -> None:
    done = await commands.run("recipe", "show", "1")
    assert done.code == 0
    assert "learned from https://shop.example/lamps/1" in done.out
    assert (
        "  offer.price: 'span.price' and 'td' after label 'price' after '$' before 'each'\n"
        "  since: datetime of 'time', read as date\n"
        "  tags[]: each 'ul > li' under 'tags'\n"
        "    value: all of it\n"
    ) in done.out
    as_json = json.loads((await commands.run("recipe", "show", "1", "--json")).out)
    assert (as_json["site"], as_json["shape"]) == ("shop.example", "/lamps/*")


async def test_a_recipe_that_is_not_there_is_said(commands: Commands) -> None:
    done = await commands.run("recipe", "show", "99")
    assert done.code == 1
    assert "There is no recipe 99" in done.err


async def test_recipes_are_deleted_by_number_site_or_all(commands: Commands) -> None:
    assert (await commands.run("recipe", "delete", "3", "99")).out == "Deleted 1 recipe\n"
    assert (await commands.run("recipe", "delete", "3")).code == 1
    by_site = await commands.run("recipe", "delete", "--site", "inn.example")
    assert by_site.out == "Deleted 1 recipe\n"
    assert (await commands.run("recipe", "delete", "--all")).out == "Deleted 1 recipe\n"
    assert (await commands.run("recipe", "list")).out == "Nothing was learned yet.\n"


@pytest.mark.parametrize("arguments", [[], ["1", "--all"], ["--site", "a.example", "--all"]])
async def test_what_to_delete_must_be_said_once(commands: Commands, arguments: list[str]) -> None:
    assert (await commands.run("recipe", "delete", *arguments)).code == 2
    assert len((await commands.run("recipe", "list")).out.splitlines()) == 3
