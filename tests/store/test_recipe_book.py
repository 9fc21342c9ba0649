"""The recipe book: one recipe to a place, for those who may use it, until it fails."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cinder.compression import compress
from cinder.errors import CacheFailed
from cinder.models.recipe import FieldRule, KeptRecipe, Locator, Recipe, RecipePlace
from cinder.store.database import from_milliseconds, to_milliseconds
from cinder.store.documents import Store
from cinder.store.recipe_book import NewRecipe, RecipeLimits
from tests.store.samples import Clock
from tests.store.test_migration import execute

LIMITS = RecipeLimits(most=100, days=30)
PLACE = RecipePlace(site="shop.example", shape="/lamps/*", wish="wish")


def a_recipe(selector: str = "h1") -> Recipe:
    return Recipe(fields=(FieldRule(path=("name",), locators=(Locator(selector=selector),)),))


def new(place: RecipePlace = PLACE, selector: str = "h1") -> NewRecipe:
    return NewRecipe(
        place=place,
        summary="name",
        recipe=a_recipe(selector),
        learned_from="https://shop.example/lamps/1",
    )


async def found(store: Store, place: RecipePlace = PLACE) -> list[KeptRecipe]:
    return await store.recipes.find(place, limit=10)


def now(clock: Clock) -> datetime:
    """The time as it is stored, in whole milliseconds."""
    return from_milliseconds(to_milliseconds(clock()))


async def test_what_is_kept_is_found_as_it_was(store: Store, clock: Clock) -> None:
    kept = await store.recipes.keep(new(), LIMITS)
    assert await found(store) == [kept]
    assert kept == KeptRecipe(
        id=kept.id,
        place=PLACE,
        summary="name",
        recipe=a_recipe(),
        learned_from="https://shop.example/lamps/1",
        created_at=now(clock),
        used_at=now(clock),
        uses=0,
        successes=0,
        failures=0,
    )


async def test_another_site_or_wish_has_recipes_of_its_own(store: Store) -> None:
    await store.recipes.keep(new(), LIMITS)
    assert await found(store, replace(PLACE, site="other.example")) == []
    assert await found(store, replace(PLACE, wish="other")) == []


async def test_what_is_learned_anew_takes_the_place_of_the_old(store: Store) -> None:
    first = await store.recipes.keep(new(), LIMITS)
    await store.recipes.note_success(first.id)
    await store.recipes.note_failure(first.id, 3)
    again = await store.recipes.keep(new(selector="h2"), LIMITS)
    (kept,) = await found(store)
    assert kept == again
    assert (kept.id, kept.recipe) == (first.id, a_recipe("h2"))
    assert (kept.uses, kept.successes, kept.failures) == (2, 1, 0)


async def test_pages_of_the_same_shape_come_first(store: Store, clock: Clock) -> None:
    lamps = await store.recipes.keep(new(), LIMITS)
    clock.move_on(timedelta(hours=1))
    desks = await store.recipes.keep(new(replace(PLACE, shape="/desks/*")), LIMITS)
    chairs = replace(PLACE, shape="/chairs/*")
    assert [each.id for each in await found(store)] == [lamps.id, desks.id]
    assert [each.id for each in await found(store, chairs)] == [desks.id, lamps.id]
    assert [each.id for each in await store.recipes.find(chairs, limit=1)] == [desks.id]


async def test_what_came_with_credentials_is_its_callers_alone(store: Store) -> None:
    ours = await store.recipes.keep(new(), LIMITS)
    hers = await store.recipes.keep(new(replace(PLACE, owner="her"), "h2"), LIMITS)
    by = {
        who: {each.id for each in await found(store, replace(PLACE, owner=who))}
        for who in (None, "her", "him")
    }
    assert by == {None: {ours.id}, "her": {ours.id, hers.id}, "him": {ours.id}}


async def test_ones_own_comes_before_everybodys(store: Store, clock: Clock) -> None:
    hers = await store.recipes.keep(new(replace(PLACE, owner="her")), LIMITS)
    clock.move_on(timedelta(hours=1))
    ours = await store.recipes.keep(new(), LIMITS)
    names = [each.id for each in await found(store, replace(PLACE, owner="her"))]
    assert names == [hers.id, ours.id]


async def test_a_success_ends_a_row_of_failures(store: Store, clock: Clock) -> None:
    kept = await store.recipes.keep(new(), LIMITS)
    clock.move_on(timedelta(minutes=5))
    for _ in range(2):
        assert not await store.recipes.note_failure(kept.id, 3)
    await store.recipes.note_success(kept.id)
    for _ in range(2):
        assert not await store.recipes.note_failure(kept.id, 3)
    (noted,) = await found(store)
    assert (noted.uses, noted.successes, noted.failures) == (5, 1, 2)
    assert noted.used_at == now(clock)


async def test_so_many_failures_in_a_row_delete_a_recipe(store: Store) -> None:
    kept = await store.recipes.keep(new(), LIMITS)
    outcomes = [await store.recipes.note_failure(kept.id, 2) for _ in range(3)]
    assert outcomes == [False, True, False]
    assert await found(store) == []


async def test_what_was_not_tried_for_long_goes(store: Store, clock: Clock) -> None:
    await store.recipes.keep(new(), LIMITS)
    clock.move_on(timedelta(days=31))
    other = await store.recipes.keep(new(replace(PLACE, shape="/desks/*")), LIMITS)
    assert [each.id for each in await store.recipes.list_recipes()] == [other.id]


async def test_beyond_the_limit_the_longest_unused_go(store: Store, clock: Clock) -> None:
    kept = []
    for shape in ("/a/*", "/b/*", "/c/*"):
        kept.append(await store.recipes.keep(new(replace(PLACE, shape=shape)), LIMITS))
        clock.move_on(timedelta(minutes=1))
    await store.recipes.note_success(kept[0].id)
    few = RecipeLimits(most=2, days=30)
    clock.move_on(timedelta(minutes=1))
    last = await store.recipes.keep(new(replace(PLACE, shape="/d/*")), few)
    assert {each.id for each in await store.recipes.list_recipes()} == {kept[0].id, last.id}


async def test_an_operator_sees_and_deletes_all(store: Store) -> None:
    ours = await store.recipes.keep(new(), LIMITS)
    hers = await store.recipes.keep(new(replace(PLACE, owner="her")), LIMITS)
    other = await store.recipes.keep(new(replace(PLACE, site="other.example")), LIMITS)
    book = store.recipes
    assert await book.list_recipes() == [other, hers, ours]
    assert await book.list_recipes("shop.example") == [hers, ours]
    assert await book.list_recipes(before_id=hers.id, limit=1) == [ours]
    assert await book.find_recipe(hers.id) == hers
    assert [await book.delete(hers.id), await book.delete(hers.id)] == [True, False]
    assert await book.find_recipe(hers.id) is None
    assert await book.delete_site("shop.example") == 1
    assert await book.list_recipes() == [other]
    assert await book.delete_site(None) == 1


async def test_texts_that_a_database_cannot_hold_are_kept_all_the_same(store: Store) -> None:
    odd = RecipePlace(site="shop.example", shape="/\x00\ud800/*", wish="wish", owner="\x00")
    kept = await store.recipes.keep(replace(new(odd), summary="\x00"), LIMITS)
    assert [each.id for each in await found(store, odd)] == [kept.id]


async def test_a_recipe_that_cannot_be_read_is_named_and_can_be_deleted(
    store: Store, store_url: str
) -> None:
    kept = await store.recipes.keep(new(), LIMITS)
    packed = compress(b"{}").hex()
    rules = f"x'{packed}'" if store_url.startswith("sqlite") else "'{}'"
    await execute(store_url, f"UPDATE webhook.recipes SET rules = {rules} RETURNING id")
    with pytest.raises(CacheFailed, match=f"cinder recipe delete {kept.id}"):
        await found(store)
    assert await store.recipes.delete(kept.id)
    assert await found(store) == []
