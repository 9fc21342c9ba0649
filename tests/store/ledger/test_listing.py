"""The ledger as it is read while pages finish: order, pages of a listing, counts."""

from datetime import timedelta

from cinder.model.job import Fate, JobKind, PageResult
from cinder.store import Store
from tests.store.ledger.samples import FETCHED, a_job, a_page, claim_one, limits, settle
from tests.store.samples import Clock


async def paths(store: Store, fates: list[Fate] | None, offset: int, limit: int) -> list[str]:
    pages = await store.ledger.list_pages("job", fates, offset=offset, limit=limit)
    return [page.url.removeprefix("https://site.test") for page in pages]


async def test_urls_with_a_fate_are_listed_in_the_order_they_got_it(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(4)])
    claims = (await store.ledger.lease("job", limits())).claims
    for number in (2, 0, 3, 1):
        clock.move_on(timedelta(milliseconds=1))
        fate = Fate.FAILED if number == 3 else Fate.FETCHED
        await settle(store, claims[number], PageResult(fate=fate))

    assert await paths(store, [Fate.FETCHED], 0, 10) == ["/2", "/0", "/1"]
    assert await paths(store, [Fate.FETCHED, Fate.FAILED], 0, 10) == ["/2", "/0", "/3", "/1"]
    assert await paths(store, None, 0, 10) == ["/0", "/1", "/2", "/3"]
    assert await paths(store, [Fate.TRAP], 0, 10) == []


async def test_a_reader_who_pages_on_while_pages_finish_sees_each_once(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(12)])
    claims = list((await store.ledger.lease("job", limits(count=12))).claims)
    seen: list[str] = []
    for newest_first in range(6):
        for _ in range(2):
            clock.move_on(timedelta(milliseconds=1))
            await settle(store, claims.pop(0 if newest_first % 2 else -1))
        seen += await paths(store, [Fate.FETCHED], len(seen), 3)
    seen += await paths(store, [Fate.FETCHED], len(seen), 100)

    assert sorted(seen) == sorted(f"/{n}" for n in range(12))


async def test_offsets_and_limits_out_of_range_list_what_there_is(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])

    assert await paths(store, None, -5, 1) == ["/1"]
    assert await paths(store, None, 0, -1) == []
    assert await paths(store, None, 0, 10**9) == ["/1", "/2"]
    assert await paths(store, None, 2, 10) == []


async def test_urls_are_counted_by_state_and_fate(store: Store) -> None:
    seeds = [a_page("/1"), a_page("/2"), a_page("/3"), a_page("/x", fate=Fate.OUTSIDE)]
    await store.ledger.add_job(a_job(), seeds)
    await settle(store, await claim_one(store), FETCHED)
    await claim_one(store)

    counts = await store.ledger.count_pages("job")
    assert (counts.queued, counts.leased) == (1, 1)
    assert counts.fates == {Fate.FETCHED: 1, Fate.OUTSIDE: 1}


async def test_pages_are_listed_in_the_order_they_got_their_fate_up_to_a_moment(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(3)])
    claims = (await store.ledger.lease("job", limits())).claims
    for claim in reversed(claims):
        clock.move_on(timedelta(seconds=1))
        await store.ledger.settle(
            store.ledger.settlement(claim, lambda _: PageResult(fate=Fate.FETCHED))
        )
    urls = [claim.url for claim in reversed(claims)]

    everything = await store.ledger.list_pages("job", [Fate.FETCHED], offset=0, limit=10)
    earlier = await store.ledger.list_pages(
        "job", [Fate.FETCHED], offset=0, limit=10, until=clock() - timedelta(seconds=1)
    )

    assert [page.url for page in everything] == urls
    assert [page.url for page in earlier] == urls[:2]


async def test_jobs_are_listed_by_kind(store: Store) -> None:
    await store.ledger.add_job(a_job("one"))
    await store.ledger.add_job(a_job("two"))

    listed = [await store.ledger.list_jobs("owner", kind) for kind in (None, *JobKind)]

    crawls = {"one", "two"}
    assert [{job.id for job in jobs} for jobs in listed] == [crawls, set(), crawls]
