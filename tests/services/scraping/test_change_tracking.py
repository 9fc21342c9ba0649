"""Change tracking of pages since they were last saved."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cinder.app.composition import App
from cinder.errors import ScrapeFailed
from cinder.models.caller import CallerPolicy
from cinder.models.document import Document, Verdict, VerdictKind
from cinder.models.request import CachePolicy, ContentOptions, Format, ResultHandling, ScrapeRequest
from cinder.models.saved import ChangeStatus, PageChange, SavedKind
from cinder.models.url import host_and_port
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.scraping.change_tracking import ChangeTracker, is_comparable
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store import open_store
from cinder.store.documents import Store
from tests.services.overload import overloaded_sandbox
from tests.site import Site
from tests.store.samples import NOW, URL, a_document, a_key


def tracking(site: Site, path: str, *formats: Format) -> ScrapeRequest:
    wanted = formats or (Format.MARKDOWN,)
    return ScrapeRequest(url=site.url(path), formats=(*wanted, Format.CHANGE_TRACKING))


async def visit(app: App, request: ScrapeRequest, times: int) -> list[ScrapeOutcome]:
    return [await app.scrape.scrape(request) for _ in range(times)]


def change_of(outcome: ScrapeOutcome) -> PageChange:
    assert outcome.change is not None
    return outcome.change


def statuses(outcomes: Sequence[ScrapeOutcome]) -> list[str]:
    return [change_of(outcome).status.value for outcome in outcomes]


async def test_a_page_is_new_then_the_same_then_changed_then_removed(app: App, site: Site) -> None:
    request = tracking(site, "/diary?days=first,spaced,changed,404")
    first, spaced, changed, removed = outcomes = await visit(app, request, 4)
    assert statuses(outcomes) == ["new", "same", "changed", "removed"]
    assert change_of(first) == PageChange(status=ChangeStatus.NEW)
    assert change_of(spaced).previous_at == first.document.scraped_at
    assert spaced.saved is not None
    assert change_of(changed).previous_uri == spaced.saved.primary_uri
    diff = change_of(changed).diff
    assert diff is not None
    assert {"-| Oak | 9 |", "+| Oak | 10 |", "+Birch burns faster."} < set(
        diff.unified.splitlines()
    )
    assert [(str(c.kind), c.section, c.before, c.after) for c in diff.blocks] == [
        ("changed", "In the morning", "| Oak | 9 |", "| Oak | 10 |"),
        ("added", "In the morning", None, "Birch burns faster."),
    ]
    assert removed.document.verdict.kind is VerdictKind.HTTP_ERROR
    assert removed.saved is None
    assert change_of(removed).previous_at == changed.document.scraped_at


async def test_a_page_that_stays_away_stays_removed_and_comes_back_as_it_was(
    app: App, site: Site
) -> None:
    request = tracking(site, "/diary?days=first,410,404,first")
    outcomes = await visit(app, request, 4)
    assert statuses(outcomes) == ["new", "removed", "removed", "same"]


async def test_a_page_that_never_was_there_fails_as_ever(app: App, site: Site) -> None:
    with pytest.raises(ScrapeFailed):
        await app.scrape.scrape(tracking(site, "/diary?days=404"))


async def test_a_server_in_trouble_is_no_removed_page(app: App, site: Site) -> None:
    request = tracking(site, "/diary?days=first,400,first")
    await app.scrape.scrape(request)
    with pytest.raises(ScrapeFailed):
        await app.scrape.scrape(request)
    assert statuses([await app.scrape.scrape(request)]) == ["same"]


@pytest.mark.parametrize("formats", [(), (Format.MARKDOWN,)])
async def test_what_a_look_for_changes_brought_is_what_comes_from_the_cache(
    app: App, site: Site, formats: tuple[Format, ...]
) -> None:
    looking = tracking(site, "/diary?days=first,changed,404")
    plain = replace(looking, formats=(Format.MARKDOWN,))
    await app.scrape.scrape(plain)
    changed = await app.scrape.scrape(replace(looking, formats=(*formats, Format.CHANGE_TRACKING)))
    again = await app.scrape.scrape(plain)
    assert again.cached
    assert again.change is None
    assert again.document.content.markdown == changed.document.content.markdown


async def test_any_earlier_scrape_of_the_page_is_compared_with(app: App, site: Site) -> None:
    request = tracking(site, "/diary?days=first,changed", Format.HTML)
    plain = await app.scrape.scrape(replace(request, formats=(Format.MARKDOWN, Format.LINKS)))
    tracked = await app.scrape.scrape(request)
    assert statuses([tracked]) == ["changed"]
    assert plain.saved is not None
    assert change_of(tracked).previous_uri == plain.saved.primary_uri


async def test_another_part_of_the_page_is_not_compared_with(app: App, site: Site) -> None:
    request = tracking(site, "/article")
    await app.scrape.scrape(request)
    part = replace(request, content=ContentOptions(include_tags=("table",)))
    assert statuses(await visit(app, part, 2)) == ["new", "same"]


async def test_what_came_with_credentials_is_compared_for_its_caller_alone(
    app: App, site: Site
) -> None:
    request = replace(tracking(site, "/article"), headers=(("Cookie", "a=b"),))
    for caller in ("alice", "bob"):
        theirs = replace(request, caller=caller)
        assert statuses(await visit(app, theirs, 2)) == ["new", "same"]


async def test_return_only_compares_and_saves_nothing(app: App, site: Site) -> None:
    request = tracking(site, "/diary?days=first,changed,changed")
    kept = await app.scrape.scrape(request)
    unkept = replace(request, result_handling=ResultHandling.RETURN_ONLY)
    outcomes = await visit(app, unkept, 2)
    assert statuses(outcomes) == ["changed", "changed"]
    assert kept.saved is not None
    assert {change_of(o).previous_uri for o in outcomes} == {kept.saved.primary_uri}


async def test_an_answer_is_never_compared_with_itself_out_of_the_cache(
    app: App, site: Site
) -> None:
    request = tracking(site, "/article")
    outcomes = await visit(app, replace(request, cache=CachePolicy(max_age_ms=10**9)), 2)
    assert statuses(outcomes) == ["new", "same"]
    assert site.hits("/article") == 2


async def test_a_page_that_its_origin_confirms_is_the_same(app: App, site: Site) -> None:
    request = tracking(site, "/diary?tagged=1&days=first,first,changed")
    first, second, third = outcomes = await visit(app, request, 3)
    assert statuses(outcomes) == ["new", "same", "changed"]
    assert second.cached
    assert change_of(second).previous_at == first.document.scraped_at
    assert change_of(third).previous_at == second.document.scraped_at


async def test_a_confirmed_page_is_compared_with_what_was_saved_since(app: App, site: Site) -> None:
    request = tracking(site, "/diary?tagged=1&days=first,changed,first")
    await app.scrape.scrape(request)
    await app.scrape.scrape(replace(request, formats=(Format.MARKDOWN,)))
    assert statuses([await app.scrape.scrape(request)]) == ["changed"]


async def test_files_are_compared_by_their_bytes(app: App, site: Site) -> None:
    outcomes = await visit(app, tracking(site, "/image"), 2)
    assert statuses(outcomes) == ["new", "same"]


async def test_unconverted_pages_are_compared_as_they_came(app: App, site: Site) -> None:
    request = replace(
        tracking(site, "/diary?days=first,spaced,changed"), content=ContentOptions(clean=False)
    )
    outcomes = await visit(app, request, 3)
    assert statuses(outcomes) == ["new", "same", "changed"]
    diff = change_of(outcomes[2]).diff
    assert diff is not None
    assert "<td>10</td>" in diff.unified


async def test_the_way_to_the_good_copy_is_told_to_one_who_tracks(app: App, site: Site) -> None:
    _, wall = await visit(app, tracking(site, "/souring"), 2)
    assert wall.document.verdict.kind is VerdictKind.LOGIN_WALL
    assert "a scrape without changeTracking, with a long maxAge" in (wall.warning or "")


async def test_both_versions_stay_readable(app: App, site: Site) -> None:
    request = tracking(site, "/diary?days=first,changed")
    _, second = await visit(app, request, 2)
    uri = change_of(second).previous_uri
    assert uri is not None
    assert second.saved is not None
    before = await app.archive.read(uri, "owner")
    after = await app.archive.read(second.saved.uris[SavedKind.CLEANED], "owner")
    assert before is not None
    assert after is not None
    assert ("| 9 |" in (before.text or ""), "| 10 |" in (after.text or "")) == (True, True)


@asynccontextmanager
async def store_with(folder: Path, document: Document) -> AsyncIterator[Store]:
    """A store that holds one version of a page."""
    store = open_store(
        f"sqlite:///{folder / 'cinder.db'}",
        pool_size=1,
        observe=lambda _name, _seconds: None,
        clock=lambda: NOW,
    )
    async with store:
        await store.save(document, replace(a_key(), content_key="key"))
        yield store


@pytest.fixture
async def tracker(tmp_path: Path) -> AsyncIterator[ChangeTracker]:
    """A tracker that knows one version of a page."""
    sandbox = ExtractionSandbox(1, timeout_seconds=30, memory_bytes=2**29)
    async with store_with(tmp_path, a_document("first")) as store, sandbox:
        yield ChangeTracker(store, sandbox)


@pytest.mark.parametrize(
    ("verdict", "status", "has_warning"),
    [
        (VerdictKind.OK, ChangeStatus.CHANGED, False),
        (VerdictKind.PARTIAL, ChangeStatus.CHANGED, True),
        (VerdictKind.SOFT_404, ChangeStatus.REMOVED, False),
        (VerdictKind.LOGIN_WALL, ChangeStatus.CHANGED, True),
        (VerdictKind.EMPTY, ChangeStatus.CHANGED, True),
    ],
)
async def test_what_came_instead_of_a_page_is_told_from_a_change_of_it(
    tracker: ChangeTracker, verdict: VerdictKind, status: ChangeStatus, has_warning: bool
) -> None:
    document = replace(
        a_document("second", scraped_at=NOW + timedelta(hours=1)), verdict=Verdict(verdict, "x")
    )
    request = ScrapeRequest(url=URL, formats=(Format.CHANGE_TRACKING,))
    change = await tracker.track(document, request, "key", CallerPolicy())
    assert change is not None
    assert (change.status, change.warning is not None) == (status, has_warning)
    assert change.previous_at == NOW


@pytest.mark.parametrize(
    "kind",
    [VerdictKind.PAYWALL, VerdictKind.LOGIN_WALL, VerdictKind.JS_SHELL, VerdictKind.PARTIAL],
)
async def test_a_page_that_came_back_after_something_else_is_told_from_a_change_of_it(
    tmp_path: Path, kind: VerdictKind
) -> None:
    async with store_with(tmp_path, replace(a_document("teaser"), verdict=Verdict(kind, "x"))) as (
        store
    ):
        sandbox = ExtractionSandbox(1, timeout_seconds=30, memory_bytes=2**29)
        async with sandbox:
            request = ScrapeRequest(url=URL, formats=(Format.CHANGE_TRACKING,))
            change = await ChangeTracker(store, sandbox).track(
                a_document("all"), request, "key", CallerPolicy()
            )
    assert change is not None
    assert change.status is ChangeStatus.CHANGED
    assert f"is ok, on the saved one {kind}" in (change.warning or "")


async def test_a_difference_that_nobody_is_free_to_work_out_is_a_change_with_a_warning(
    tmp_path: Path,
) -> None:
    request = ScrapeRequest(url=URL, formats=(Format.CHANGE_TRACKING,))
    async with store_with(tmp_path, a_document("first")) as store, overloaded_sandbox() as busy:
        document = a_document("".join(f"line {n}\n\n" for n in range(60_000)))
        change = await ChangeTracker(store, busy).track(document, request, "key", CallerPolicy())
    assert change is not None
    assert (change.status, change.diff) == (ChangeStatus.CHANGED, None)
    assert "could not be worked out: Too many" in (change.warning or "")


async def test_a_version_from_where_a_token_does_not_go_is_none_to_compare_with(
    tmp_path: Path,
) -> None:
    elsewhere = replace(a_document("secret"), final_url="https://elsewhere.test/")
    request = ScrapeRequest(url=URL, formats=(Format.CHANGE_TRACKING,))
    policy = CallerPolicy(domains=(host_and_port(URL)[0],))
    sandbox = ExtractionSandbox(1, timeout_seconds=30, memory_bytes=2**29)
    async with store_with(tmp_path, elsewhere) as store, sandbox:
        tracker = ChangeTracker(store, sandbox)
        change = await tracker.track(a_document("mine"), request, "key", policy)
    assert change == PageChange(status=ChangeStatus.NEW)


async def test_a_blocked_page_tells_nothing(tracker: ChangeTracker) -> None:
    document = replace(a_document("second"), verdict=Verdict(VerdictKind.BLOCKED, "x"))
    request = ScrapeRequest(url=URL, formats=(Format.CHANGE_TRACKING,))
    assert await tracker.track(document, request, "key", CallerPolicy()) is None
    assert not is_comparable(document, request)


async def test_a_difference_that_takes_too_long_is_a_change_with_a_warning(
    tmp_path: Path,
) -> None:
    hurried = ExtractionSandbox(1, timeout_seconds=0.001, memory_bytes=2**29)
    async with store_with(tmp_path, a_document("first")) as store, hurried:
        request = ScrapeRequest(url=URL, formats=(Format.CHANGE_TRACKING,))
        document = a_document("word " * 100_000)
        change = await ChangeTracker(store, hurried).track(document, request, "key", CallerPolicy())
    assert change is not None
    assert (change.status, change.diff) == (ChangeStatus.CHANGED, None)
    assert "could not be worked out" in (change.warning or "")
