"""Rebuilding the index from the stored documents, while pages are saved and deleted."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from cinder.models.document import Extraction, VerdictKind
from cinder.models.saved import SavedDocument
from cinder.store.database import Query, Statement
from cinder.store.documents import Store
from cinder.store.index.indexing import BATCH
from cinder.store.ledger.page_commits import PageCommit
from tests.store.index.samples import FIRES, GLASS, TIDES, find, find_paths, save_page
from tests.store.samples import NOW, Clock, a_document, a_key
from tests.store.test_migration import execute


async def test_a_newer_version_takes_the_place_of_the_older(store: Store) -> None:
    first = await save_page(store, "page", FIRES)
    later = NOW + timedelta(minutes=5)
    newer = await save_page(store, "page", TIDES, scraped_at=later)
    assert await find_paths(store, "grass") == []
    (page,) = await find(store, "moon")
    assert page.version == newer.version
    assert page.first_seen_at == first.version.saved_at
    assert await store.index.count() == 1


async def test_a_page_under_several_keys_is_found_by_the_newest(store: Store) -> None:
    document = a_document(text="basalt", url="https://example.com/p")
    await store.save(document, a_key("one"))
    newer = replace(document, scraped_at=NOW + timedelta(minutes=1))
    saved = await store.save(newer, a_key("two"))
    (page,) = await find(store, "basalt")
    assert page.version == saved.version


@pytest.mark.parametrize("kind", [kind for kind in VerdictKind if kind not in ("ok", "partial")])
async def test_what_is_no_good_page_is_not_found(store: Store, kind: VerdictKind) -> None:
    await save_page(store, "page", TIDES, verdict=kind)
    assert await store.index.count() == 0


async def test_what_is_not_good_leaves_the_good_version_where_it_is(store: Store) -> None:
    good = await save_page(store, "page", TIDES)
    later = NOW + timedelta(minutes=5)
    await save_page(store, "page", "Log in", verdict=VerdictKind.LOGIN_WALL, scraped_at=later)
    (page,) = await find(store, "moon")
    assert page.version == good.version


async def test_a_page_without_text_is_not_found(store: Store) -> None:
    document = a_document(text=None)
    await store.save(document, a_key())
    await store.save(replace(document, content=Extraction(text="<p>hi</p>")), a_key("raw"))
    assert await store.index.count() == 0


async def test_what_came_with_credentials_is_found_by_its_owner_alone(store: Store) -> None:
    await save_page(store, "mine", f"{TIDES} Mine.", owner="ann")
    await save_page(store, "all", f"{TIDES} For all.")
    assert set(await find_paths(store, "moon", caller="ann")) == {"mine", "all"}
    assert await find_paths(store, "moon", caller="bob") == ["all"]
    assert await find_paths(store, "moon", caller="") == ["all"]


async def test_the_same_page_is_kept_apart_for_each_owner(store: Store) -> None:
    await save_page(store, "page", FIRES, owner="ann")
    await save_page(store, "page", GLASS, owner="bob")
    await save_page(store, "page", TIDES)
    assert await store.index.count() == 3
    assert await find_paths(store, "grass", caller="ann") == ["page"]
    assert await find_paths(store, "grass", caller="bob") == []
    assert await find_paths(store, "furnace", caller="bob") == ["page"]


async def test_a_save_that_fails_leaves_nothing_in_the_index(store: Store) -> None:
    def break_off(saved: SavedDocument | None) -> Query[None]:
        yield Statement("SELECT count(*) AS n FROM webhook.indexed_pages")
        raise LookupError(saved and saved.cache_key)

    with pytest.raises(LookupError):
        await store.save(a_document(text="basalt"), a_key(), PageCommit("job", break_off))
    assert await store.index.count() == 0
    assert await find(store, "basalt") == []
    await store.save(a_document(text="basalt"), a_key())
    assert len(await find(store, "basalt")) == 1


async def test_invalidating_a_url_takes_it_out(store: Store) -> None:
    await save_page(store, "tides", TIDES)
    await save_page(store, "tides", TIDES, owner="ann")
    await save_page(store, "glass", GLASS)
    await store.invalidate_url("https://example.com/tides")
    assert await store.index.count() == 1
    assert await find_paths(store, "moon furnace", caller="ann") == ["glass"]


async def test_what_is_deleted_when_it_expires_leaves_the_index(store: Store, clock: Clock) -> None:
    await save_page(store, "short", TIDES, expires_at=NOW + timedelta(hours=1))
    await save_page(store, "long", GLASS, expires_at=NOW + timedelta(hours=9))
    clock.move_on(timedelta(hours=2))
    await store.delete_expired(clock())
    assert await store.index.count() == 1
    assert await find_paths(store, "moon furnace") == ["long"]


async def test_a_page_that_was_confirmed_is_found_for_longer(store: Store, clock: Clock) -> None:
    saved = await save_page(store, "tides", TIDES, expires_at=NOW + timedelta(hours=1))
    clock.move_on(timedelta(minutes=50))
    await store.mark_revalidated(saved, clock(), clock() + timedelta(hours=1))
    clock.move_on(timedelta(minutes=50))
    assert await find_paths(store, "moon") == ["tides"]


async def test_a_page_as_large_as_can_be_is_found(store: Store) -> None:
    words = " ".join(f"wörd{number}" for number in range(60_000))
    await save_page(store, "large", f"granite {words}")
    assert await find_paths(store, "granite wörd77") == ["large"]


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
