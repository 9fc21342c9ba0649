"""The ledger as it is read while pages finish: order, pages of a listing, counts."""

from dataclasses import replace
from datetime import timedelta

from cinder.models.job import JobKind, JobStatus, PageResult, PageStatus
from cinder.store.documents import Store
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
from tests.store.samples import Clock


async def paths(store: Store, fates: list[PageStatus] | None, offset: int, limit: int) -> list[str]:
    pages = await store.ledger.list_pages("job", fates, offset=offset, limit=limit)
    return [page.url.removeprefix("https://site.test") for page in pages]


async def test_urls_with_a_fate_are_listed_in_the_order_they_got_it(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(4)])
    claims = (await store.ledger.lease("job", limits())).claims
    for number in (2, 0, 3, 1):
        clock.move_on(timedelta(milliseconds=1))
        fate = PageStatus.FAILED if number == 3 else PageStatus.FETCHED
        await commit_page(store, claims[number], PageResult(fate=fate))

    assert await paths(store, [PageStatus.FETCHED], 0, 10) == ["/2", "/0", "/1"]
    assert await paths(store, [PageStatus.FETCHED, PageStatus.FAILED], 0, 10) == [
        "/2",
        "/0",
        "/3",
        "/1",
    ]
    assert await paths(store, None, 0, 10) == ["/0", "/1", "/2", "/3"]
    assert await paths(store, [PageStatus.TRAP], 0, 10) == []


async def test_a_reader_who_pages_on_while_pages_finish_sees_each_once(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(12)])
    claims = list((await store.ledger.lease("job", limits(count=12))).claims)
    seen: list[str] = []
    for newest_first in range(6):
        for _ in range(2):
            clock.move_on(timedelta(milliseconds=1))
            await commit_page(store, claims.pop(0 if newest_first % 2 else -1))
        seen += await paths(store, [PageStatus.FETCHED], len(seen), 3)
    seen += await paths(store, [PageStatus.FETCHED], len(seen), 100)

    assert sorted(seen) == sorted(f"/{n}" for n in range(12))


async def test_offsets_and_limits_out_of_range_list_what_there_is(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])

    assert await paths(store, None, -5, 1) == ["/1"]
    assert await paths(store, None, 0, -1) == []
    assert await paths(store, None, 0, 10**9) == ["/1", "/2"]
    assert await paths(store, None, 2, 10) == []


async def test_urls_are_counted_by_state_and_fate(store: Store) -> None:
    seeds = [a_page("/1"), a_page("/2"), a_page("/3"), a_page("/x", fate=PageStatus.OUTSIDE)]
    await store.ledger.add_job(a_job(), seeds)
    await commit_page(store, await claim_one(store), FETCHED)
    await claim_one(store)

    counts = await store.ledger.count_pages("job")
    assert (counts.queued, counts.leased) == (1, 1)
    assert counts.fates == {PageStatus.FETCHED: 1, PageStatus.OUTSIDE: 1}


async def test_lists_are_in_the_order_of_the_commits_whatever_the_clocks_of_workers_say(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(6)])
    claims = (await store.ledger.lease("job", limits())).claims
    fates = [PageStatus.FETCHED, PageStatus.FAILED, PageStatus.DISALLOWED] * 2
    for claim, fate in reversed(list(zip(claims, fates, strict=True))):
        clock.move_on(timedelta(milliseconds=-300))
        await commit_page(store, claim, PageResult(fate=fate))

    assert await paths(store, [PageStatus.FETCHED], 0, 10) == ["/3", "/0"]
    assert await paths(store, [PageStatus.DISALLOWED, PageStatus.FAILED], 0, 10) == [
        "/5",
        "/4",
        "/2",
        "/1",
    ]
    assert await paths(store, [PageStatus.DISALLOWED, PageStatus.FAILED], 1, 2) == ["/4", "/2"]
    assert await paths(store, [PageStatus.FAILED], 1, 10) == ["/1"]


async def test_every_list_is_read_from_any_offset_on(store: Store) -> None:
    seeds = [a_page(f"/{n}") for n in range(10)]
    others = [
        a_page(f"/{fate.name}/{n}", fate=fate)
        for n in range(10)
        for fate in (PageStatus.OUTSIDE, PageStatus.TRAP, PageStatus.FAILED)
    ]
    await store.ledger.add_job(a_job(), [*seeds, *others])
    for number, claim in enumerate((await store.ledger.lease("job", limits())).claims):
        fate = (PageStatus.FETCHED, PageStatus.FAILED, PageStatus.DUPLICATE)[number % 3]
        await commit_page(store, claim, PageResult(fate=fate), (a_page(f"/found/{number}"),))
    await store.ledger.finish_job("job", JobStatus.CANCELLED)

    lists: list[list[PageStatus] | None] = [None, [PageStatus.FAILED, PageStatus.DISALLOWED]]
    for fates in [*lists, *([fate] for fate in PageStatus)]:
        everything = await paths(store, fates, 0, 1000)
        one_by_one = [await paths(store, fates, place, 1) for place in range(len(everything) + 1)]
        assert one_by_one == [*([path] for path in everything), []]
    assert len(await paths(store, None, 0, 1000)) == 50
    assert len(await paths(store, [PageStatus.LEFT], 0, 1000)) == 10


async def test_url_that_is_met_closer_to_the_start_leaves_its_list_without_a_gap(
    store: Store,
) -> None:
    deep = [
        replace(a_page(f"/{n}", fate=PageStatus.OUTSIDE, depth=5), is_too_deep=True)
        for n in range(4)
    ]
    await store.ledger.add_job(a_job(), deep)
    await store.ledger.add_pages("job", [a_page("/1", depth=2), a_page("/3", depth=2)])

    assert await paths(store, [PageStatus.OUTSIDE], 0, 10) == ["/0", "/2"]
    assert await paths(store, [PageStatus.OUTSIDE], 1, 10) == ["/2"]
    assert await paths(store, None, 0, 10) == ["/0", "/1", "/2", "/3"]
    job = await the_job(store)
    assert (job.found, job.fates, job.too_deep) == (4, {PageStatus.OUTSIDE: 2}, 2)
    assert {page.depth for page in (await ledger_of(store)).values()} == {2, 5}


async def test_jobs_are_listed_by_kind(store: Store) -> None:
    await store.ledger.add_job(a_job("one"))
    await store.ledger.add_job(a_job("two"))

    listed = [await store.ledger.list_jobs("owner", kind) for kind in (None, *JobKind)]

    crawls = {"one", "two"}
    assert [{job.id for job in jobs} for jobs in listed] == [crawls, set(), crawls]
