"""Commits on both databases: fates, redirects, twins, found URLs, and nothing by halves."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from cinder.models.job import (
    NOT_FOLLOWED_RANK,
    ContentFingerprint,
    JobStatus,
    NewPage,
    PageResult,
    PageState,
    PageStatus,
)
from cinder.models.saved import SavedDocument
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.ledger.samples import (
    FETCHED,
    a_job,
    a_page,
    claim_one,
    commit_page,
    ledger_of,
    limits,
    the_job,
)
from tests.store.samples import Clock, a_document, a_key

SAME, OTHER = ContentFingerprint(b"same"), ContentFingerprint(b"other")


async def start(store: Store, *paths: str) -> None:
    await store.ledger.add_job(a_job(), [a_page(path) for path in paths])


def with_content(content: ContentFingerprint) -> PageResult:
    return replace(FETCHED, content=content)


def _given(result: PageResult, _: SavedDocument | None) -> PageResult:
    return result


async def commit_all(store: Store, *results: PageResult) -> None:
    """Settle one URL after the other; near is whose sketches begin alike."""
    for result in results:
        page_commit = store.ledger.page_commit(
            await claim_one(store),
            partial(_given, result),
            is_near=lambda one, other: one[:1] == other[:1],
        )
        await store.ledger.commit(page_commit)


async def commit_together(store: Store, *results: PageResult) -> None:
    """Settle as many URLs at once; near is whose sketches begin alike."""
    claims = (await store.ledger.lease("job", limits(count=len(results)))).claims
    page_commits = (
        store.ledger.page_commit(
            claim, partial(_given, result), is_near=lambda one, other: one[:1] == other[:1]
        )
        for claim, result in zip(claims, results, strict=True)
    )
    await asyncio.gather(*map(store.ledger.commit, page_commits))


async def test_a_url_has_its_fate_and_what_is_known_of_its_page(store: Store, clock: Clock) -> None:
    await start(store, "/1")
    result = PageResult(
        fate=PageStatus.FETCHED,
        status_code=203,
        verdict="ok",
        title="Nul \x00 and \ud800",
        content_length=12,
        uris=("cinder://a", "cinder://b"),
    )
    await commit_page(store, await claim_one(store), result)

    page = (await ledger_of(store))["/1"]
    assert (page.state, page.fate, page.status_code) == (PageState.DONE, PageStatus.FETCHED, 203)
    assert (page.verdict, page.title, page.content_length) == ("ok", "Nul \ufffd and \ufffd", 12)
    assert page.uris == ("cinder://a", "cinder://b")
    assert page.finished_at == clock.now.replace(microsecond=123000)
    job = await the_job(store)
    assert (job.status, job.found, job.fetched, job.failed) == (JobStatus.RUNNING, 1, 1, 0)


async def test_a_failure_is_counted_as_one(store: Store) -> None:
    await start(store, "/1")
    await commit_page(
        store, await claim_one(store), PageResult(fate=PageStatus.FAILED, reason="HTTP 500")
    )

    job = await the_job(store)
    assert (job.found, job.fetched, job.failed) == (1, 0, 1)
    assert (await ledger_of(store))["/1"].reason == "HTTP 500"


async def test_a_url_that_failed_at_first_sight_is_counted_as_one(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/no", fate=PageStatus.FAILED)])

    job = await the_job(store)
    assert (job.found, job.failed) == (2, 1)


async def test_a_saved_page_and_its_fate_are_written_together(store: Store) -> None:
    await start(store, "/1")
    page_commit = store.ledger.page_commit(
        await claim_one(store),
        lambda saved: replace(FETCHED, uris=(saved.primary_uri,) if saved else ()),
    )
    saved = await store.save(a_document(), a_key(), page_commit)

    assert (await ledger_of(store))["/1"].uris == (saved.primary_uri,)


async def test_a_lost_lease_leaves_neither_a_fate_nor_a_page(store: Store, clock: Clock) -> None:
    await start(store, "/1")
    (lost,) = (await store.ledger.lease("job", limits(seconds=10))).claims
    clock.move_on(timedelta(seconds=11))
    await claim_one(store, is_alone=True)

    page_commit = store.ledger.page_commit(lost, lambda _: FETCHED, [a_page("/found")])
    with pytest.raises(LeaseLost):
        await store.save(a_document(), a_key(), page_commit)

    assert await store.find("key") is None
    assert list(await ledger_of(store)) == ["/1"]
    job = await the_job(store)
    assert (job.found, job.fetched) == (1, 0)


async def test_a_fate_is_written_once(store: Store) -> None:
    await start(store, "/1")
    claim = await claim_one(store)
    await commit_page(store, claim)
    with pytest.raises(LeaseLost):
        await commit_page(store, claim)

    assert (await the_job(store)).fetched == 1


async def test_a_redirect_to_a_new_url_gives_that_url_the_result(store: Store) -> None:
    await start(store, "/old")
    await commit_page(store, await claim_one(store), replace(FETCHED, landed_on=a_page("/new")))

    pages = await ledger_of(store)
    assert (pages["/old"].fate, pages["/old"].reason) == (
        PageStatus.DUPLICATE,
        f"{a_page('/new').url} (redirect)",
    )
    assert pages["/new"].fate is PageStatus.FETCHED
    job = await the_job(store)
    assert (job.found, job.fetched) == (2, 1)
    assert (await store.ledger.lease("job", limits())).is_over


async def test_a_redirect_to_a_queued_url_spares_its_fetch(store: Store) -> None:
    await start(store, "/old", "/new")
    await commit_page(store, await claim_one(store), replace(FETCHED, landed_on=a_page("/new")))

    assert (await ledger_of(store))["/new"].fate is PageStatus.FETCHED
    assert (await the_job(store)).found == 2
    assert (await store.ledger.lease("job", limits())).is_over


async def test_a_redirect_to_a_url_that_another_has_leaves_the_result_to_him(store: Store) -> None:
    await start(store, "/old", "/new")
    old, new = (await store.ledger.lease("job", limits())).claims
    await commit_page(store, old, replace(FETCHED, landed_on=a_page("/new")))
    assert (await ledger_of(store))["/new"].state is PageState.LEASED
    await commit_page(store, new)

    fates = {path: page.fate for path, page in (await ledger_of(store)).items()}
    assert fates == {"/old": PageStatus.DUPLICATE, "/new": PageStatus.FETCHED}
    assert (await the_job(store)).fetched == 1


async def test_a_redirect_to_a_url_that_is_done_changes_nothing_of_it(store: Store) -> None:
    await start(store, "/new", "/old")
    new, old = (await store.ledger.lease("job", limits())).claims
    await commit_page(store, new, PageResult(fate=PageStatus.FAILED, reason="HTTP 500"))
    await commit_page(store, old, replace(FETCHED, landed_on=a_page("/new")))

    pages = await ledger_of(store)
    assert (pages["/new"].fate, pages["/new"].reason) == (PageStatus.FAILED, "HTTP 500")
    assert pages["/old"].fate is PageStatus.DUPLICATE
    job = await the_job(store)
    assert (job.fetched, job.failed) == (0, 1)


async def test_a_redirect_to_a_url_that_its_page_links_to_as_well_adds_it_once(
    store: Store,
) -> None:
    await start(store, "/old")
    result = replace(FETCHED, landed_on=a_page("/new"))
    await commit_page(store, await claim_one(store), result, (a_page("/new", depth=2),))

    assert (await ledger_of(store))["/new"].depth == 1
    assert (await the_job(store)).found == 2


async def test_a_page_with_the_text_of_another_is_its_duplicate(store: Store) -> None:
    await start(store, "/1", "/2", "/3")
    await commit_all(store, *(with_content(each) for each in (SAME, OTHER, SAME)))

    pages = await ledger_of(store)
    assert [page.fate for page in pages.values()] == [
        PageStatus.FETCHED,
        PageStatus.FETCHED,
        PageStatus.DUPLICATE,
    ]
    assert pages["/3"].reason == f"{a_page('/1').url} (same content)"
    assert (await the_job(store)).fetched == 2


async def test_a_page_nearly_like_another_is_its_duplicate(store: Store) -> None:
    await start(store, "/1", "/2", "/3", "/4")
    first = ContentFingerprint(b"1", b"a1", (7, 8))
    far_with_a_shared_key = ContentFingerprint(b"2", b"b2", (8, 9))
    near = ContentFingerprint(b"3", b"a3", (8, 10, 10))
    near_without_a_shared_key = ContentFingerprint(b"4", b"a4", (11,))
    prints = (first, far_with_a_shared_key, near, near_without_a_shared_key)
    await commit_all(store, *map(with_content, prints))

    pages = await ledger_of(store)
    assert {path for path, page in pages.items() if page.fate is PageStatus.FETCHED} == {
        "/1",
        "/2",
        "/4",
    }
    assert pages["/3"].reason == f"{a_page('/1').url} (nearly the same content)"


async def test_twins_that_are_committed_together_are_found(store: Store) -> None:
    await start(store, "/1", "/2", "/3", "/4", "/5", "/6")
    first = ContentFingerprint(b"1", b"a1", (7, 8))
    near = ContentFingerprint(b"2", b"a2", (8, 9))
    near_without_a_shared_key = ContentFingerprint(b"3", b"a3", (9, 10))
    prints = (OTHER, first, near, near_without_a_shared_key, SAME, SAME)
    await commit_together(store, *map(with_content, prints))

    pages = await ledger_of(store)
    assert {path for path, page in pages.items() if page.fate is PageStatus.DUPLICATE} == {
        "/3",
        "/6",
    }
    assert (pages["/3"].reason, pages["/6"].reason) == (
        f"{a_page('/2').url} (nearly the same content)",
        f"{a_page('/5').url} (same content)",
    )
    assert (await the_job(store)).fetched == 4


async def test_a_page_with_keys_is_a_duplicate_of_one_without(store: Store) -> None:
    await start(store, "/1", "/2")
    await commit_all(store, with_content(SAME), with_content(replace(SAME, sketch=b"a", keys=(1,))))

    assert (await ledger_of(store))["/2"].fate is PageStatus.DUPLICATE


def naming(path: str, content: ContentFingerprint = OTHER) -> PageResult:
    return replace(FETCHED, canonical=a_page(path), content=content)


async def test_a_page_is_a_duplicate_of_the_url_that_it_names_as_its_own(store: Store) -> None:
    await start(store, "/1", "/2")
    await commit_all(store, FETCHED, naming("/1"))

    pages = await ledger_of(store)
    assert (pages["/1"].fate, pages["/2"].fate) == (PageStatus.FETCHED, PageStatus.DUPLICATE)
    assert pages["/2"].reason == f"{a_page('/1').url} (its canonical URL)"


@pytest.mark.parametrize("commit", [commit_all, commit_together])
async def test_a_page_is_kept_where_its_canonical_url_is_fetched_after_it(
    store: Store, commit: Callable[..., Awaitable[None]]
) -> None:
    await start(store, "/1", "/2")
    await commit(store, naming("/2", SAME), with_content(SAME))

    pages = await ledger_of(store)
    assert (pages["/1"].fate, pages["/2"].fate) == (PageStatus.FETCHED, PageStatus.DUPLICATE)
    assert pages["/2"].reason == f"{a_page('/1').url} (same content)"


async def test_a_page_is_kept_where_its_canonical_url_fails_after_it(store: Store) -> None:
    await start(store, "/1", "/2")
    await commit_all(store, naming("/2"), PageResult(fate=PageStatus.FAILED, reason="HTTP 404"))

    assert (await ledger_of(store))["/1"].fate is PageStatus.FETCHED


@pytest.mark.parametrize("commit", [commit_all, commit_together])
async def test_a_page_whose_canonical_url_redirects_to_it_is_kept(
    store: Store, commit: Callable[..., Awaitable[None]]
) -> None:
    await start(store, "/1", "/2")
    landed = replace(naming("/2"), landed_on=a_page("/1"))
    await commit(store, naming("/2"), landed)

    pages = await ledger_of(store)
    assert (pages["/1"].fate, pages["/2"].fate) == (PageStatus.FETCHED, PageStatus.DUPLICATE)


async def test_the_page_of_a_redirect_that_names_the_url_it_was_redirected_from_is_kept(
    store: Store,
) -> None:
    await start(store, "/docs")
    await commit_all(store, replace(naming("/docs"), landed_on=a_page("/docs/")))

    fates = {path: page.fate for path, page in (await ledger_of(store)).items()}
    assert fates == {"/docs": PageStatus.DUPLICATE, "/docs/": PageStatus.FETCHED}


@pytest.mark.parametrize("commit", [commit_all, commit_together])
@pytest.mark.parametrize("names", [("/2", "/1"), ("/2", "/3", "/1")])
async def test_of_pages_that_name_each_other_as_their_own_the_last_is_a_duplicate(
    store: Store, commit: Callable[..., Awaitable[None]], names: tuple[str, ...]
) -> None:
    await start(store, *sorted(names))
    prints = (ContentFingerprint(b"1", b"a", (1,)), OTHER, ContentFingerprint(b"3", b"c", (3,)))
    await commit(store, *(naming(name, each) for name, each in zip(names, prints, strict=False)))

    *first, last = [page.fate for page in (await ledger_of(store)).values()]
    assert set(first) == {PageStatus.FETCHED}
    assert last is PageStatus.DUPLICATE


async def test_a_page_that_names_one_that_failed_is_kept(store: Store) -> None:
    await start(store, "/1", "/2", "/3")
    failed = PageResult(fate=PageStatus.FAILED, reason="HTTP 404")
    await commit_all(store, failed, naming("/1"), naming("/3", SAME))

    pages = await ledger_of(store)
    assert (pages["/2"].fate, pages["/3"].fate) == (PageStatus.FETCHED, PageStatus.FETCHED)


async def test_a_url_behind_links_that_are_not_followed_is_taken_when_one_is(store: Store) -> None:
    await start(store, "/1", "/2")
    marked = replace(
        a_page("/3", depth=2, fate=PageStatus.OUTSIDE, reason="nofollow"), rank=NOT_FOLLOWED_RANK
    )
    await commit_page(store, await claim_one(store), FETCHED, (marked,))
    await commit_page(
        store, await claim_one(store), FETCHED, (replace(a_page("/3", depth=2), rank=16),)
    )

    assert (await ledger_of(store))["/3"].state is PageState.QUEUED
    job = await the_job(store)
    assert (job.found, job.too_deep, job.fates) == (3, 0, {PageStatus.FETCHED: 2})
    assert (await claim_one(store)).url == a_page("/3").url


async def test_redirects_to_one_url_that_are_committed_together_give_it_one_result(
    store: Store,
) -> None:
    await start(store, "/1", "/2", "/3", "/4")
    await commit_together(store, *[replace(FETCHED, landed_on=a_page("/new"))] * 4)

    fates = {path: page.fate for path, page in (await ledger_of(store)).items()}
    assert fates.pop("/new") is PageStatus.FETCHED
    assert set(fates.values()) == {PageStatus.DUPLICATE}
    job = await the_job(store)
    assert (job.found, job.fetched) == (5, 1)
    assert (await store.ledger.lease("job", limits())).is_over


async def test_of_one_claim_committed_several_times_at_once_one_is_written(store: Store) -> None:
    await start(store, "/1", "/2")
    claim, other = (await store.ledger.lease("job", limits())).claims
    done = await asyncio.gather(
        *(commit_page(store, each) for each in (other, claim, claim, claim)), return_exceptions=True
    )

    assert [type(each) for each in done if each is not None] == [LeaseLost, LeaseLost]
    assert (await the_job(store)).fetched == 2


async def test_a_lost_lease_spoils_none_of_those_committed_together_with_it(
    store: Store, clock: Clock
) -> None:
    await start(store, "/1", "/2", "/3", "/4")
    (lost,) = (await store.ledger.lease("job", limits(seconds=10, count=1))).claims
    clock.move_on(timedelta(seconds=11))
    claims = (await store.ledger.lease("job", limits())).claims
    page_commits = [
        store.ledger.page_commit(claim, lambda _: FETCHED)
        for claim in (*claims[:2], lost, claims[2])
    ]
    done = await asyncio.gather(
        *(
            store.save(a_document(url=f"https://site.test/{n}"), a_key(f"key {n}"), page_commit)
            for n, page_commit in enumerate(page_commits)
        ),
        return_exceptions=True,
    )

    assert [isinstance(each, LeaseLost) for each in done] == [False, False, True, False]
    found = [await store.find(f"key {n}") is not None for n in range(4)]
    assert found == [True, True, False, True]
    assert (await the_job(store)).fetched == 3


async def test_documents_of_one_key_that_are_saved_together_are_both_kept(store: Store) -> None:
    await start(store, "/1", "/2", "/3")
    claims = (await store.ledger.lease("job", limits())).claims
    page_commits = [store.ledger.page_commit(claim, lambda _: FETCHED) for claim in claims]
    saved = await asyncio.gather(
        *(
            store.save(a_document(text=f"text {n}"), a_key(), page_commit)
            for n, page_commit in enumerate(page_commits)
        )
    )

    versions = await store.find_versions([each.version for each in saved], "owner")
    texts = [each.document.content.text for each in versions if each is not None]
    assert texts == ["text 0", "text 1", "text 2"]
    assert (await the_job(store)).fetched == 3


async def test_pages_of_other_jobs_are_no_twins(store: Store) -> None:
    await start(store, "/1")
    await store.ledger.add_job(a_job("other"), [a_page("/1")])
    (claim,) = (await store.ledger.lease("other", limits())).claims
    await commit_page(store, claim, with_content(SAME))
    await commit_all(store, with_content(SAME))

    assert (await the_job(store)).fetched == 1


async def test_without_a_measure_no_two_pages_are_twins(store: Store) -> None:
    await start(store, "/1", "/2")
    for _ in range(2):
        await commit_page(store, await claim_one(store), with_content(SAME))

    assert (await the_job(store)).fetched == 2


async def test_found_urls_enter_the_ledger_once_with_what_they_are(store: Store) -> None:
    await start(store, "/1", "/2")
    found = (
        a_page("/1"),
        a_page("/3", depth=2, template="t"),
        a_page("/x", fate=PageStatus.TRAP, reason="endless"),
    )
    for _ in range(2):
        await commit_page(store, await claim_one(store), FETCHED, found)

    pages = await ledger_of(store)
    assert list(pages) == ["/1", "/2", "/3", "/x"]
    assert (pages["/3"].state, pages["/3"].depth) == (PageState.QUEUED, 2)
    assert (pages["/x"].fate, pages["/x"].reason) == (PageStatus.TRAP, "endless")
    assert (await the_job(store)).found == 4
    assert await store.ledger.count_templates("job") == {"t": 1}


async def test_a_url_that_is_found_twice_on_one_page_is_added_once(store: Store) -> None:
    await start(store, "/1")
    too_deep = a_page("/2", depth=3, fate=PageStatus.OUTSIDE, reason="too deep")
    await commit_page(store, await claim_one(store), FETCHED, (too_deep, a_page("/2", depth=2)))

    assert (await ledger_of(store))["/2"].state is PageState.QUEUED
    assert (await the_job(store)).found == 2


async def test_a_url_that_was_too_deep_is_taken_when_it_is_met_nearer(store: Store) -> None:
    await start(store, "/1", "/2")
    too_deep = a_page("/3", depth=3, fate=PageStatus.OUTSIDE, reason="too deep")
    await commit_page(store, await claim_one(store), FETCHED, (too_deep,))
    await commit_page(
        store, await claim_one(store), FETCHED, (a_page("/3", depth=2, template="t"),)
    )

    page = (await ledger_of(store))["/3"]
    assert (page.state, page.depth, page.fate, page.reason) == (PageState.QUEUED, 2, None, "")
    assert (await the_job(store)).found == 3
    assert await store.ledger.count_templates("job") == {"t": 1}
    assert (await claim_one(store)).url == a_page("/3").url


async def test_a_url_that_was_asked_for_is_not_taken_again_when_met_nearer(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/file", depth=3), a_page("/1")])
    await commit_page(
        store, await claim_one(store), PageResult(fate=PageStatus.OUTSIDE, reason="a file")
    )
    await commit_page(store, await claim_one(store), FETCHED, (a_page("/file", depth=2),))

    assert (await ledger_of(store))["/file"].fate is PageStatus.OUTSIDE
    assert (await store.ledger.lease("job", limits())).is_over


async def test_many_who_commit_at_once_find_each_url_once(store: Store) -> None:
    await start(store, *(f"/{number}" for number in range(24)))
    claims = (await store.ledger.lease("job", limits(count=24))).claims
    hosts = ("https://a.test", "https://b.test", "https://site.test")

    def found_by(number: int) -> tuple[NewPage, ...]:
        links = tuple(a_page(f"/f{n}", host=hosts[n % 3]) for n in range(number, number + 60))
        return links if number % 2 else links[::-1]

    async def commit_and_look(number: int) -> None:
        landing = a_page(f"/f{number + 30}", host=hosts[number % 3]) if number % 3 == 0 else None
        result = replace(FETCHED, landed_on=landing)
        async with asyncio.timeout(60):
            await commit_page(store, claims[number], result, found_by(number))
            await store.ledger.lease("job", limits(count=1, host_concurrency=1000))

    await asyncio.gather(*(commit_and_look(number) for number in range(24)))

    counts = await store.ledger.count_pages("job")
    job = await the_job(store)
    assert job.found == 24 + 83
    assert job.found == counts.queued + counts.leased + sum(counts.fates.values())
    assert job.fetched == counts.fates[PageStatus.FETCHED]


async def test_those_who_commit_lease_and_cancel_at_once_do_not_wait_for_each_other(
    store: Store,
) -> None:
    await start(store, *(f"/{number}" for number in range(20)))
    claims = (await store.ledger.lease("job", limits(count=16))).claims
    outside = PageResult(fate=PageStatus.OUTSIDE)
    committing = (
        commit_page(store, claim, outside, tuple(a_page(f"/f{n}") for n in range(30)))
        for claim in claims
    )
    async with asyncio.timeout(60):
        done = await asyncio.gather(
            *committing,
            *(store.ledger.renew(claims[::-1], 30) for _ in range(4)),
            *(store.ledger.lease("job", limits(count=1)) for _ in range(4)),
            store.ledger.finish_job("job", JobStatus.CANCELLED),
            return_exceptions=True,
        )

    errors = [each for each in done if isinstance(each, BaseException)]
    assert all(isinstance(error, LeaseLost) for error in errors)
    counts = await store.ledger.count_pages("job")
    assert (counts.queued, counts.leased) == (0, 0)


async def test_a_job_knows_how_many_bytes_its_pages_had(store: Store) -> None:
    await start(store, "/1", "/2", "/3")
    failed = PageResult(fate=PageStatus.FAILED, body_bytes=20)
    await commit_all(store, replace(FETCHED, body_bytes=3_000_000_000), failed, FETCHED)
    assert (await the_job(store)).bytes_fetched == 3_000_000_020
