"""Reading: who may see what, in which order, and for how long."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cinder.models.document import Media
from cinder.models.saved import SavedBody, SavedKind, SavedListing, Version
from cinder.store.document_reads import EntrySummary
from cinder.store.documents import Store
from tests.store.samples import NOW, URL, Clock, a_document, a_full_document, a_key


async def test_an_unknown_key_finds_nothing(store: Store) -> None:
    assert await store.find("no such key") is None


async def test_every_body_is_read_with_its_type(store: Store) -> None:
    saved = await store.save(a_full_document(), a_key())
    bodies = {kind: await store.read(saved.version, kind, "anyone") for kind in SavedKind}
    content, screenshot = saved.document.content, saved.document.screenshot
    assert isinstance(screenshot, Media)
    assert {
        kind: body and (body.mime, body.text or body.data) for kind, body in bodies.items()
    } == {
        SavedKind.RAW: ("text/html", content.text),
        SavedKind.CLEANED: ("text/markdown", content.markdown),
        SavedKind.EXTRACTED: ("application/json", saved.document.extracted),
        SavedKind.SCREENSHOT: ("image/png", screenshot.data),
    }


async def test_a_body_tells_where_it_comes_from(store: Store) -> None:
    saved = await store.save(a_document("text"), a_key())
    assert await store.read(saved.version, SavedKind.RAW, "anyone") == SavedBody(
        uri=saved.version.uri(SavedKind.RAW),
        url=URL,
        title="Hello",
        mime="text/html",
        saved_at=saved.version.saved_at,
        text="text",
    )


async def test_what_was_never_saved_is_not_read(store: Store) -> None:
    saved = await store.save(a_document(), a_key())
    assert await store.read(saved.version, SavedKind.EXTRACTED, "anyone") is None
    assert await store.read(Version("example.com/other", NOW), SavedKind.RAW, "anyone") is None
    assert await store.read(Version("\x00\ud800", NOW), SavedKind.RAW, "anyone") is None


async def test_a_version_is_found_whole_before_and_after_replacement(store: Store) -> None:
    saved = await store.save(a_full_document(), a_key())
    assert (await store.find_versions([saved.version], "anyone"))[0] == saved
    await store.save(a_document("later"), a_key())
    assert (await store.find_versions([saved.version], "anyone"))[0] == saved


async def test_several_versions_are_found_each_in_its_place(store: Store) -> None:
    later = NOW + timedelta(seconds=1)
    one = a_document("one", url="https://example.com/1")
    two = a_document("two", url="https://example.com/2", scraped_at=later)
    first, second = await store.save(one, a_key("1")), await store.save(two, a_key("2"))
    never = Version(first.version.place, second.version.saved_at)

    found = await store.find_versions([second.version, never, first.version], "anyone")

    assert found == [second, None, first]


@pytest.mark.parametrize("place", ["media", "original"])
async def test_the_file_of_a_version_is_found_in_its_place(store: Store, place: str) -> None:
    document = a_document(None if place == "media" else "text")
    with_file = {
        "media": replace(document, media=Media("application/pdf", b"%PDF")),
        "original": replace(document, original=Media("application/pdf", b"%PDF")),
    }[place]
    saved = await store.save(with_file, a_key())
    await store.save(a_document("later"), a_key())
    found = (await store.find_versions([saved.version], "anyone"))[0]
    assert found is not None
    assert found.document == with_file


async def test_a_version_is_not_found_by_others_nor_after_its_time(
    store: Store, clock: Clock
) -> None:
    expiry = NOW + timedelta(hours=1)
    saved = await store.save(a_document(), a_key(owner="alice", expires_at=expiry))
    assert (await store.find_versions([saved.version], "alice"))[0] == saved
    assert (await store.find_versions([saved.version], "bob"))[0] is None
    assert (await store.find_versions([Version("example.com/other", NOW)], "alice"))[0] is None
    clock.move_on(timedelta(hours=1))
    assert (await store.find_versions([saved.version], "alice"))[0] is None


async def test_an_owned_version_is_shown_to_its_owner_alone(store: Store) -> None:
    for text in ("first", "second"):
        await store.save(a_document(text), a_key("private", owner="alice"))
    public = await store.save(a_document("public"), a_key("public"))
    alices = await store.list_saved("alice")
    assert len(alices) == 3
    assert [listing.uri for listing in await store.list_saved("bob")] == [public.primary_uri]
    for listing in alices[1:]:
        version = Version("example.com/article", listing.saved_at)
        assert await store.read(version, SavedKind.RAW, "alice") is not None
        assert await store.read(version, SavedKind.RAW, "bob") is None


async def test_a_list_is_paged_from_the_newest_down(store: Store) -> None:
    uris = [
        (await store.save(a_document(f"{n}"), a_key(f"key {n % 3}"))).primary_uri for n in range(7)
    ]
    seen: list[SavedListing] = []
    while page := await store.list_saved(
        "anyone", before_id=seen[-1].id if seen else None, limit=3
    ):
        assert len(page) <= 3
        seen += page
    assert [listing.uri for listing in seen] == uris[::-1]
    assert await store.list_saved("anyone", before_id=2**80, limit=-1) == []


async def test_a_listing_describes_the_primary_body(store: Store) -> None:
    saved = await store.save(a_document("Grüße"), a_key())
    [listing] = await store.list_saved("anyone")
    assert listing == SavedListing(
        id=listing.id,
        uri=saved.primary_uri,
        url=URL,
        title="Hello",
        mime="text/markdown",
        size=len("# Grüße".encode()),
        saved_at=saved.version.saved_at,
    )


async def test_what_has_expired_is_no_longer_shown(store: Store, clock: Clock) -> None:
    saved = await store.save(a_document(), a_key(expires_at=NOW + timedelta(hours=1)))
    clock.move_on(timedelta(hours=1))
    assert await store.find("key") is None
    assert await store.read(saved.version, SavedKind.RAW, "anyone") is None
    assert await store.list_saved("anyone") == []
    assert await store.list_entries(URL) == []


async def test_the_entries_of_a_url_are_listed_newest_first(store: Store) -> None:
    for number in range(3):
        moment = NOW + timedelta(minutes=number)
        await store.save(a_document("text", scraped_at=moment), a_key(f"key {number}"))
    await store.save(a_document(url="https://example.com/other"), a_key("other"))
    assert await store.list_entries(f"{URL}#fragment") == [
        EntrySummary(
            url=URL,
            cache_key=f"key {number}",
            scraped_at=NOW + timedelta(minutes=number),
            expires_at=NOW + timedelta(days=30),
            access_count=0,
            last_accessed_at=None,
            raw_length=4,
            cleaned_length=6,
            uri=f"scrape://example.com/article/cleaned_2025-11-15T18:3{number}:00.123Z",
        )
        for number in (2, 1, 0)
    ]


async def test_an_open_store_is_found_sound(store: Store) -> None:
    await store.check()


async def test_the_newest_comparable_document_of_a_url_is_found(store: Store, clock: Clock) -> None:
    for place, name in enumerate(("markdown", "html", "other")):
        clock.move_on(timedelta(seconds=1))
        key = replace(a_key(name), content_key="other" if name == "other" else "shared")
        await store.save(a_document(name, scraped_at=NOW + timedelta(seconds=place)), key)
    await store.save(a_document("unmarked", scraped_at=NOW + timedelta(hours=1)), a_key("unmarked"))
    found = await store.find_comparable(f"{URL}#fragment", "shared", "anyone")
    assert found is not None
    assert (found.document.content.text, found.cache_key) == ("html", "html")
    assert await store.find_comparable(URL, "unknown", "anyone") is None
    assert await store.find_comparable("https://example.com/other", "shared", "anyone") is None
    clock.move_on(timedelta(days=31))
    assert await store.find_comparable(URL, "shared", "anyone") is None


async def test_an_owned_document_is_comparable_for_its_owner_alone(store: Store) -> None:
    await store.save(a_document(), replace(a_key(owner="alice"), content_key="shared"))
    assert await store.find_comparable(URL, "shared", "alice") is not None
    assert await store.find_comparable(URL, "shared", "bob") is None


async def test_no_option_can_pass_for_a_content_key(store: Store) -> None:
    forged = replace(a_key(), options={"includeTags": ['"contentKey": "shared"']})
    await store.save(a_document(), forged)
    assert await store.find_comparable(URL, "shared", "anyone") is None


async def test_the_versions_of_a_page_are_listed_newest_first(store: Store) -> None:
    first = await store.save(a_document("first"), a_key())
    second = await store.save(a_document("second"), a_key())
    hidden = await store.save(a_document("third"), a_key("hidden", owner="somebody"))
    place = first.version.place
    assert await store.list_versions(place, "anyone", limit=10) == [second.version, first.version]
    assert await store.list_versions(place, "somebody", limit=1) == [hidden.version]
    assert await store.list_versions("\x00\ud800", "anyone", limit=10) == []


async def test_places_are_found_by_how_they_begin(store: Store) -> None:
    for path in ("a", "a", "b", "100%"):
        await store.save(a_document(path, url=f"https://example.com/{path}"), a_key(path))
    own = a_document("own", url="https://example.com/own")
    await store.save(own, a_key("own", owner="somebody"))
    everything = ["example.com/100%", "example.com/b", "example.com/a"]
    assert await store.list_places("", "anyone", limit=10) == everything
    assert await store.list_places("example.com/1", "anyone", limit=10) == everything[:1]
    assert await store.list_places("%", "anyone", limit=10) == []
    assert await store.list_places("\x00\ud800", "anyone", limit=10) == []
    assert await store.list_places("example.com/o", "somebody", limit=10) == ["example.com/own"]
