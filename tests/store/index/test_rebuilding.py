"""Rebuilding: the index is made anew from what is kept, while pages come and go."""

import asyncio
from datetime import timedelta

from cinder.model.document import VerdictKind
from cinder.store import Store
from cinder.store.index.rebuilding import BATCH
from tests.store.index.samples import TIDES, find, find_paths, save_page
from tests.store.samples import NOW
from tests.store.test_migration import execute


async def test_an_index_that_was_lost_is_made_anew(store: Store, store_url: str) -> None:
    pages = 2 * BATCH + 3
    for number in range(pages):
        await save_page(store, f"p{number}", f"ember number{number}")
    await save_page(store, "mine", TIDES, owner="ann")
    await save_page(store, "blocked", TIDES, verdict=VerdictKind.BLOCKED)
    before = await find(store, "ember", limit=100)
    await execute(store_url, "DELETE FROM webhook.indexed_pages RETURNING id")
    assert await find(store, "ember") == []
    assert await store.index.rebuild() == pages + 1
    assert {page.url: page for page in await find(store, "ember", limit=100)} == {
        page.url: page for page in before
    }
    assert await find_paths(store, "moon") == []
    assert await find_paths(store, "moon", caller="ann") == ["mine"]


async def test_rebuilding_a_whole_index_changes_nothing(store: Store) -> None:
    await save_page(store, "tides", TIDES, published="2025-01-01")
    before = await find(store, "moon")
    assert await store.index.rebuild() == 1
    assert await find(store, "moon") == before


async def test_a_version_that_was_replaced_by_a_worse_one_stays(store: Store) -> None:
    await save_page(store, "tides", TIDES)
    later = NOW + timedelta(minutes=1)
    await save_page(store, "tides", "Log in", verdict=VerdictKind.LOGIN_WALL, scraped_at=later)
    before = await find(store, "moon")
    assert await store.index.rebuild() == 1
    assert await find(store, "moon") == before


async def test_what_is_no_longer_good_enough_goes(store: Store, store_url: str) -> None:
    await save_page(store, "tides", TIDES)
    await execute(store_url, "UPDATE webhook.scrape_cache SET cleaned_content = NULL RETURNING id")
    assert await store.index.rebuild() == 0
    assert await find(store, "moon") == []


async def test_the_index_is_rebuilt_while_pages_are_saved_and_deleted(store: Store) -> None:
    for number in range(60):
        await save_page(store, f"old{number}", f"ember number{number}")
    async with asyncio.TaskGroup() as tasks:
        rebuilding = tasks.create_task(store.index.rebuild())
        for number in range(60):
            tasks.create_task(save_page(store, f"new{number}", f"ember new{number}"))
        for number in range(0, 60, 2):
            tasks.create_task(store.invalidate_url(f"https://example.com/old{number}"))
    assert rebuilding.done()
    kept = {f"old{number}" for number in range(1, 60, 2)}
    found = await find_paths(store, "ember", limit=200)
    assert sorted(found) == sorted(kept | {f"new{number}" for number in range(60)})
    assert await store.index.count() == 90
