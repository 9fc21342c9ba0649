"""Deleting: what expired or is invalidated goes, with its bodies, and nothing else."""

import asyncio
from datetime import timedelta

from cinder.model.saved import SavedKind
from cinder.store import Store
from cinder.store.deleting import CHUNK
from tests.store.samples import NOW, URL, a_document, a_full_document, a_key

OTHER = "https://example.com/other"
HOUR = timedelta(hours=1)


async def test_invalidating_a_url_deletes_all_its_entries_and_versions(store: Store) -> None:
    for key in ("one", "two"):
        await store.save(a_full_document(), a_key(key))
        await store.save(a_document("newer"), a_key(key))
    kept = await store.save(a_document(url=OTHER), a_key("other"))
    assert await store.invalidate_url(f"{URL}#fragment") == 2
    assert await store.list_entries(URL) == []
    assert await store.find("one") is None
    assert [listing.uri for listing in await store.list_saved("anyone")] == [kept.primary_uri]
    assert await store.invalidate_url(URL) == 0


async def test_expired_versions_go_and_current_ones_stay(store: Store) -> None:
    old = await store.save(a_full_document(), a_key("one", expires_at=NOW + HOUR))
    new = await store.save(a_document("new"), a_key("one", expires_at=NOW + 3 * HOUR))
    gone = await store.save(a_document("gone"), a_key("two", expires_at=NOW + 2 * HOUR))
    assert await store.delete_expired(NOW) == 0
    assert await store.delete_expired(NOW + 2 * HOUR) == 2
    for version in (old.version, gone.version):
        assert await store.read(version, SavedKind.RAW, "anyone") is None
    assert await store.find("one") == new
    assert await store.find("two") is None


async def test_a_body_stays_while_any_version_has_it(store: Store) -> None:
    first = await store.save(a_document("same"), a_key(expires_at=NOW + HOUR))
    second = await store.save(a_document("same"), a_key(expires_at=NOW + 3 * HOUR))
    await store.save(a_document("other"), a_key(expires_at=NOW + 3 * HOUR))
    assert await store.delete_expired(NOW + HOUR) == 1
    assert await store.read(first.version, SavedKind.RAW, "anyone") is None
    body = await store.read(second.version, SavedKind.RAW, "anyone")
    assert body is not None
    assert body.text == "same"


async def test_more_than_a_chunk_is_deleted(store: Store) -> None:
    expired = a_key(expires_at=NOW + HOUR)
    await asyncio.gather(*(store.save(a_document(f"{n}"), expired) for n in range(CHUNK + 5)))
    assert await store.delete_expired(NOW + HOUR) == CHUNK + 5
    assert await store.find("key") is None


async def test_saving_and_deleting_at_once_lose_nothing_that_is_current(store: Store) -> None:
    async def save(number: int) -> None:
        text = f"body {number % 3}"
        await store.save(a_document(text), a_key("a", expires_at=NOW + number % 2 * HOUR))

    async def delete() -> None:
        await store.delete_expired(NOW)

    async with asyncio.TaskGroup() as group:
        for number in range(40):
            group.create_task(save(number))
            group.create_task(delete())
    await delete()
    for listing in await store.list_saved("anyone"):
        assert listing.uri.startswith("scrape://")
    last = await store.save(a_document("last"), a_key("a"))
    assert await store.find("a") == last
