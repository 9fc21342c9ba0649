"""Access counts between two writings."""

from datetime import timedelta

from cinder.store import open_store
from cinder.store.database import StoreLimits
from cinder.store.documents import MAX_PENDING, AccessCounts, Store
from tests.store.conftest import open_at
from tests.store.samples import NOW, URL, Clock, a_document, a_full_document, a_key


async def test_a_document_is_read_from_the_database_once(store: Store) -> None:
    saved = await store.save(a_full_document(), a_key())
    first, second = await store.find("key"), await store.find("key")
    assert first is not None
    assert second is first
    assert (first.document, first.version, first.cache_key) == (
        *(saved.document, saved.version),
        "key",
    )


async def test_without_room_each_find_reads_the_database(store_url: str, clock: Clock) -> None:
    store = open_store(store_url, pool_size=1, limits=StoreLimits(), observe=lambda *_: None)
    async with store:
        await store.save(a_document(), a_key(expires_at=NOW + timedelta(days=36_500)))
        first, second = await store.find("key"), await store.find("key")
        assert first == second
        assert first is not second


async def test_what_another_process_saves_is_found_at_once(
    store: Store, store_url: str, clock: Clock
) -> None:
    await store.save(a_document("one"), a_key())
    async with open_at(store_url, clock) as other:
        for text in ("two", "three"):
            assert await store.find("key") is not None
            saved = await other.save(a_document(text), a_key())
            assert await store.find("key") == saved


async def test_what_another_process_confirms_is_as_new_as_that(
    store: Store, store_url: str, clock: Clock
) -> None:
    saved = await store.save(a_document("one"), a_key())
    assert await store.find("key") == saved
    confirmed = NOW + timedelta(hours=1)
    async with open_at(store_url, clock) as other:
        await other.mark_revalidated(saved, confirmed, confirmed + timedelta(days=1))
    found = await store.find("key")
    assert found is not None
    assert found.document.scraped_at == confirmed
    assert found.version == saved.version


async def test_what_another_process_deletes_is_gone(
    store: Store, store_url: str, clock: Clock
) -> None:
    await store.save(a_document("one"), a_key())
    assert await store.find("key") is not None
    async with open_at(store_url, clock) as other:
        assert await other.invalidate_url(URL) == 1
    assert await store.find("key") is None
    # With the clock standing still, the next version has the same name as the one that is gone.
    again = await store.save(a_document("two"), a_key())
    assert await store.find("key") == again


async def test_what_has_expired_is_not_found_in_memory(store: Store, clock: Clock) -> None:
    await store.save(a_document(), a_key(expires_at=NOW + timedelta(hours=1)))
    assert await store.find("key") is not None
    clock.move_on(timedelta(hours=2))
    assert await store.find("key") is None


LATER = NOW + timedelta(seconds=5)


def test_counts_given_back_join_newer_ones() -> None:
    counts = AccessCounts()
    counts.add("one", LATER)
    counts.add("one", NOW)
    taken = counts.take()
    counts.add("one", NOW)
    counts.give_back(taken)
    assert counts.take() == {"one": (3, LATER)}
    assert counts.take() == {}


def test_counts_that_cannot_be_written_take_bounded_memory() -> None:
    counts = AccessCounts()
    for number in range(MAX_PENDING + 10):
        counts.add(f"{number}", NOW)
    counts.add("0", NOW)
    taken = counts.take()
    assert len(taken) == MAX_PENDING
    assert taken["0"] == (2, NOW)
