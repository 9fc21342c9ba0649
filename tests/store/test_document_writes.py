"""Deleting: what expired or is invalidated goes, with its bodies, and nothing else."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from cinder.models.document import Media, Verdict, VerdictKind
from cinder.models.saved import SavedBody, SavedDocument, SavedKind, parse_saved_uri
from cinder.store import open_store
from cinder.store.documents import CHUNK, Store
from tests.store.conftest import open_at
from tests.store.samples import NOW, URL, Clock, a_document, a_full_document, a_key


async def read_uri(store: Store, uri: str, caller: str = "anyone") -> SavedBody | None:
    version, kind = parse_saved_uri(uri)
    return await store.read(version, kind, caller)


async def raw_text(store: Store, saved: SavedDocument) -> str | None:
    body = await read_uri(store, saved.uris[SavedKind.RAW])
    return None if body is None else body.text


async def test_a_version_is_named_by_its_time_in_milliseconds(store: Store) -> None:
    saved = await store.save(a_document(), a_key())
    assert saved.primary_uri == "scrape://example.com/article/cleaned_2025-11-15T18:30:00.123Z"


async def test_a_replaced_version_stays_readable_by_its_uris(store: Store) -> None:
    first = await store.save(a_full_document(), a_key())
    before = [await read_uri(store, uri) for uri in first.uris.values()]
    second = await store.save(a_document("new", scraped_at=NOW + timedelta(hours=1)), a_key())
    assert [await read_uri(store, uri) for uri in first.uris.values()] == before
    assert None not in before
    assert await raw_text(store, second) == "new"
    found = await store.find("key")
    assert found == second


async def test_a_page_with_a_screenshot_lists_it_beside_its_texts(store: Store) -> None:
    document = replace(a_document(), screenshot=Media("image/png", b"\x89PNG"))
    saved = await store.save(document, a_key())
    assert list(saved.uris) == [SavedKind.RAW, SavedKind.CLEANED, SavedKind.SCREENSHOT]
    assert saved.primary_uri == saved.uris[SavedKind.CLEANED]
    found = await store.find("key")
    assert found is not None
    assert found.uris == saved.uris


async def test_a_replaced_version_keeps_its_screenshot(store: Store) -> None:
    document = replace(a_document(), screenshot=Media("image/png", b"\x89PNG"))
    saved = await store.save(document, a_key())
    await store.save(a_document("later"), a_key())
    kept = await read_uri(store, saved.uris[SavedKind.SCREENSHOT])
    assert kept is not None
    assert (kept.mime, kept.data, kept.text) == ("image/png", b"\x89PNG", None)
    assert await raw_text(store, saved) == document.content.text


async def test_media_without_text_is_the_raw_body_before_and_after_replacement(
    store: Store,
) -> None:
    document = replace(a_document(None), media=Media("application/pdf", b"%PDF"))
    saved = await store.save(document, a_key())
    before = await read_uri(store, saved.primary_uri)
    await store.save(a_document("later"), a_key())
    assert await read_uri(store, saved.primary_uri) == before
    assert before is not None
    assert (before.mime, before.data, before.text) == ("application/pdf", b"%PDF", None)


async def test_two_saves_in_one_millisecond_get_different_uris(store: Store) -> None:
    first = await store.save(a_document("first"), a_key("one"))
    second = await store.save(a_document("second"), a_key("two"))
    third = await store.save(a_document("third"), a_key("one"))
    saved = (first, second, third)
    assert [s.version.saved_at.microsecond for s in saved] == [123000, 124000, 125000]
    assert [await raw_text(store, s) for s in saved] == ["first", "second", "third"]


async def test_http_and_https_pages_are_kept_apart(store: Store) -> None:
    secure = await store.save(a_document("https"), a_key("one"))
    plain = await store.save(a_document("http", url="http://example.com/article"), a_key("two"))
    assert secure.version.saved_at == plain.version.saved_at
    assert [await raw_text(store, s) for s in (secure, plain)] == ["https", "http"]


async def test_fifty_saves_at_once_leave_one_entry_and_fifty_versions(store: Store) -> None:
    texts = [f"version {number}" for number in range(50)]
    saved = await asyncio.gather(*(store.save(a_document(text), a_key()) for text in texts))
    assert [await raw_text(store, s) for s in saved] == texts
    assert len({s.primary_uri for s in saved}) == 50
    assert len(await store.list_entries(URL)) == 1
    found = await store.find("key")
    assert found in saved


async def test_a_page_that_comes_back_to_an_old_state_shares_its_bodies(store: Store) -> None:
    texts = ["a", "b", "a", "b", "a"]
    saved = [await store.save(a_document(text), a_key()) for text in texts]
    assert [await raw_text(store, s) for s in saved] == texts


async def test_revalidation_renews_the_document_but_not_its_uri(store: Store, clock: Clock) -> None:
    saved = await store.save(a_document(), a_key(expires_at=NOW + timedelta(days=1)))
    confirmed = NOW + timedelta(hours=20)
    await store.mark_revalidated(saved, confirmed, NOW + timedelta(days=2))
    clock.move_on(timedelta(days=1, hours=1))
    found = await store.find("key")
    assert found is not None
    assert found.document == replace(saved.document, scraped_at=confirmed)
    assert found.version == saved.version
    assert await raw_text(store, saved) is not None


async def test_revalidating_what_was_replaced_meanwhile_changes_nothing(store: Store) -> None:
    stale = await store.save(a_document("old"), a_key())
    newest = await store.save(a_document("new"), a_key())
    await store.mark_revalidated(stale, NOW + timedelta(hours=1), NOW + timedelta(days=2))
    assert await store.find("key") == newest


async def test_accesses_are_counted_and_survive_a_replacement(store: Store, clock: Clock) -> None:
    await store.save(a_document(), a_key())
    await asyncio.gather(*(store.find("key") for _ in range(7)))
    clock.move_on(timedelta(minutes=1))
    await store.find("key")
    await store.save(a_document("new"), a_key())
    [entry] = await store.list_entries(URL)
    assert (entry.access_count, entry.last_accessed_at) == (8, clock.now)


async def test_accesses_are_written_at_the_latest_when_the_store_closes(
    store_url: str, clock: Clock
) -> None:
    async with open_at(store_url, clock) as store:
        await store.save(a_document(), a_key())
        await store.find("key")
    async with open_at(store_url, clock) as store:
        [entry] = await store.list_entries(URL)
        assert entry.access_count == 1


async def test_accesses_are_written_while_the_store_is_open(store_url: str) -> None:
    written = asyncio.Event()

    def observe(name: str, _seconds: float) -> None:
        if name == "count_accesses":
            written.set()

    async with open_store(store_url, pool_size=1, observe=observe, clock=Clock()) as store:
        await store.save(a_document(), a_key())
        await store.find("key")
        async with asyncio.timeout(60):
            await written.wait()


async def test_a_caller_who_goes_away_holds_up_no_one(store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        saves = [group.create_task(store.save(a_document(f"{n}"), a_key())) for n in range(20)]
        for number, save in enumerate(saves):
            if number % 2:
                # Each is caught at another step.
                for _ in range(number):
                    await asyncio.sleep(0)
                save.cancel()
    kept = [save.result() for save in saves if not save.cancelled()]
    assert len(kept) >= 10
    assert [s.document.content.text for s in kept] == [await raw_text(store, s) for s in kept]
    await store.save(a_document("afterwards"), a_key())


async def test_a_url_too_long_for_an_index_is_kept(store: Store) -> None:
    noise = "".join(chr(97 + (n * n * 31 + n) % 26) for n in range(8000))
    saved = await store.save(a_document("long", url=f"{URL}?{noise}"), a_key())
    assert await raw_text(store, saved) == "long"


async def test_a_url_that_looks_like_sql_is_only_a_url(store: Store) -> None:
    url = "https://example.com/';DROP%20TABLE%20scrape_cache;--?a=$1&b=%00&c=webhook.bodies"
    saved = await store.save(a_document("safe", url=url), a_key("'; DELETE FROM bodies; --"))
    assert await raw_text(store, saved) == "safe"
    assert [entry.url for entry in await store.list_entries(url)] == [url]
    assert await store.invalidate_url(url) == 1


WALLED = Verdict(VerdictKind.LOGIN_WALL, "it asks to log in")


async def test_a_bad_document_does_not_replace_a_good_one(store: Store) -> None:
    good = await store.save(a_document("good"), a_key())
    bad = replace(a_document("bad"), verdict=WALLED)
    assert await store.save_unless_good(bad, a_key()) is None
    assert await store.find("key") == good
    assert len(await store.list_saved("anyone")) == 1


async def test_a_bad_document_is_kept_where_there_is_none_better(store: Store) -> None:
    bad = replace(a_document("bad"), verdict=WALLED)
    first = await store.save_unless_good(bad, a_key())
    assert await store.find("key") == first
    second = await store.save_unless_good(bad, a_key())
    assert await store.find("key") == second != first


async def test_a_good_document_that_has_expired_is_replaced(store: Store, clock: Clock) -> None:
    await store.save(a_document("good"), a_key(expires_at=NOW + timedelta(days=1)))
    clock.move_on(timedelta(days=2))
    bad = replace(a_document("bad"), verdict=WALLED)
    saved = await store.save_unless_good(bad, a_key(expires_at=NOW + timedelta(days=9)))
    assert await store.find("key") == saved is not None


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
