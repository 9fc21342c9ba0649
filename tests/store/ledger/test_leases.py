"""Leases on both databases: politeness, fencing, takeover."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from cinder.models.job import JobStatus, NewPage, PageResult, PageStatus
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.ledger.samples import HOST, a_job, a_page, commit_page, limits, the_job
from tests.store.samples import Clock


async def test_queued_urls_are_leased_in_the_order_they_were_seen(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2"), a_page("/3")])

    lease = await store.ledger.lease("job", limits(count=10))

    assert sorted(claim.url for claim in lease.claims) == [
        a_page("/1").url,
        a_page("/2").url,
        a_page("/3").url,
    ]
    assert {claim.fence for claim in lease.claims} == {1}


def ranked(path: str, rank: int, host: str = HOST) -> NewPage:
    return replace(a_page(path, host=host), rank=rank)


async def lease_paths(store: Store, *, count: int = 10, host_concurrency: int = 100) -> list[str]:
    bounds = limits(count=count, host_concurrency=host_concurrency)
    lease = await store.ledger.lease("job", bounds)
    return [claim.url.removeprefix(HOST) for claim in lease.claims]


async def test_urls_are_leased_by_rank_and_those_of_one_rank_as_they_were_seen(
    store: Store,
) -> None:
    other = "https://a.test"
    pages = [ranked("/4", 3), ranked("/3", 2, other), ranked("/1", 1), ranked("/2", 1)]
    await store.ledger.add_job(a_job(), pages)

    urls = [path for _ in range(4) for path in await lease_paths(store, count=1)]
    assert urls == ["/1", "/2", f"{other}/3", "/4"]


async def test_a_url_that_is_found_by_a_better_way_moves_up(store: Store) -> None:
    await store.ledger.add_job(a_job(), [ranked("/1", 1), ranked("/2", 2), ranked("/3", 3)])
    (first,) = (await store.ledger.lease("job", limits(count=1))).claims
    await commit_page(store, first, found=(ranked("/3", 1), ranked("/2", 5)))

    assert await lease_paths(store, count=2) == ["/3", "/2"]
    assert (await the_job(store)).found == 3


async def test_the_last_pages_are_kept_for_the_best_rank_even_while_its_host_is_busy(
    store: Store,
) -> None:
    other = "https://a.test"
    pages = [ranked("/1", 1), ranked("/2", 1), ranked("/3", 1), ranked("/4", 2, other)]
    await store.ledger.add_job(a_job(max_pages=3), pages)

    assert await lease_paths(store, host_concurrency=2) == ["/1", "/2"]
    waiting = await store.ledger.lease("job", limits(host_concurrency=2))
    assert (waiting.claims, waiting.is_over) == ((), False)
    assert waiting.wait_ms


async def test_hosts_of_a_worse_rank_are_asked_meanwhile_where_pages_suffice_for_all(
    store: Store,
) -> None:
    other = "https://a.test"
    pages = [ranked("/1", 1), ranked("/2", 1), ranked("/3", 2, other)]
    await store.ledger.add_job(a_job(max_pages=3), pages)

    assert await lease_paths(store, host_concurrency=1) == ["/1", f"{other}/3"]


async def test_nothing_else_is_leased_while_the_start_of_a_crawl_is_fetched(store: Store) -> None:
    await store.ledger.add_job(a_job(), [ranked("/start", 0)])
    (start,) = (await store.ledger.lease("job", limits(count=10))).claims
    other = "https://a.test"
    listed = [ranked("/listed", 3), ranked("/listed", 3, other)]
    await store.ledger.add_pages("job", listed, is_last=True)

    waiting = await store.ledger.lease("job", limits(count=10))
    assert (waiting.claims, waiting.is_over) == ((), False)
    assert waiting.wait_ms
    await commit_page(store, start, found=(ranked("/linked", 2),))
    assert await lease_paths(store) == ["/linked", "/listed", f"{other}/listed"]


async def test_a_host_is_never_asked_more_at_once_than_it_bears(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(20)])

    leases = await asyncio.gather(
        *(store.ledger.lease("job", limits(count=5, host_concurrency=3)) for _ in range(4))
    )

    assert sum(len(lease.claims) for lease in leases) == 3
    assert all(lease.claims or lease.wait_ms for lease in leases)


async def test_hosts_that_have_all_they_bear_do_not_keep_others_waiting(store: Store) -> None:
    hosts = [f"https://{name}.test" for name in "abcdef"]
    pages = [a_page(f"/{number}", host=host) for host in hosts for number in range(2)]
    await store.ledger.add_job(a_job(), pages)

    leases = [
        await store.ledger.lease("job", limits(count=3, host_concurrency=1)) for _ in range(3)
    ]

    asked = [[claim.host for claim in lease.claims] for lease in leases]
    assert asked == [hosts[:3], hosts[3:], []]


async def test_a_host_with_a_delay_is_asked_once_in_that_time(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    await store.ledger.slow_down(a_page("/1").host, delay_ms=5_000)

    first = await store.ledger.lease("job", limits(count=5))
    waiting = await store.ledger.lease("job", limits(count=5))
    clock.move_on(timedelta(seconds=5))
    await store.ledger.commit(
        store.ledger.page_commit(first.claims[0], lambda _: PageResult(fate=PageStatus.FETCHED))
    )
    second = await store.ledger.lease("job", limits(count=5))

    assert (len(first.claims), len(waiting.claims), len(second.claims)) == (1, 0, 1)
    assert waiting.wait_ms == 5_000
    assert second.claims[0].delay_ms == 5_000


async def test_a_host_with_a_delay_is_not_asked_while_a_request_is_under_way(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    await store.ledger.slow_down(a_page("/1").host, delay_ms=5_000)

    await store.ledger.lease("job", limits(count=5))
    clock.move_on(timedelta(seconds=6))

    assert (await store.ledger.lease("job", limits(count=5))).claims == ()


async def test_a_job_may_want_more_time_between_requests_than_the_host(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    patient = limits(count=5, least_delay_ms=5_000)

    first = await store.ledger.lease("job", patient)
    waiting = await store.ledger.lease("job", patient)
    clock.move_on(timedelta(seconds=5))
    await store.ledger.release(first.claims)
    second = await store.ledger.lease("job", patient)

    assert (len(first.claims), len(waiting.claims), len(second.claims)) == (1, 0, 1)


async def test_the_time_that_one_job_wants_between_requests_is_no_other_jobs(store: Store) -> None:
    for name in ("patient", "hasty"):
        await store.ledger.add_job(a_job(name), [a_page("/1"), a_page("/2")])

    slow = await store.ledger.lease("patient", limits(count=5, least_delay_ms=600_000))
    quick = await store.ledger.lease("hasty", limits(count=5))

    assert (len(slow.claims), len(quick.claims)) == (1, 2)


async def test_a_lease_that_ran_out_goes_to_another_and_its_holder_cannot_write(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    (frozen,) = (await store.ledger.lease("job", limits(seconds=10))).claims
    clock.move_on(timedelta(seconds=11))
    (other,) = (await store.ledger.lease("job", limits(seconds=10, is_alone=True))).claims

    assert other.fence == frozen.fence + 1
    with pytest.raises(LeaseLost):
        await store.ledger.commit(
            store.ledger.page_commit(frozen, lambda _: PageResult(fate=PageStatus.FETCHED))
        )
    await store.ledger.commit(
        store.ledger.page_commit(
            other, lambda _: PageResult(fate=PageStatus.FETCHED, status_code=200)
        )
    )
    assert (await store.ledger.count_pages("job")).fates == {PageStatus.FETCHED: 1}


async def test_a_renewed_lease_is_kept(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    lease = await store.ledger.lease("job", limits(seconds=10))
    clock.move_on(timedelta(seconds=8))
    await store.ledger.renew(lease.claims, 10)
    clock.move_on(timedelta(seconds=8))

    assert not (await store.ledger.lease("job", limits())).claims


async def test_a_released_url_can_be_leased_again(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    (claim,) = (await store.ledger.lease("job", limits())).claims
    await store.ledger.release([claim])

    (again,) = (await store.ledger.lease("job", limits())).claims
    assert (again.page_id, again.tries) == (claim.page_id, 0)


async def test_no_more_is_leased_than_a_job_may_have(store: Store) -> None:
    await store.ledger.add_job(a_job(max_pages=2), [a_page(f"/{n}") for n in range(5)])
    lease = await store.ledger.lease("job", limits(count=5))
    for claim in lease.claims:
        await store.ledger.commit(
            store.ledger.page_commit(claim, lambda _: PageResult(fate=PageStatus.FETCHED))
        )

    assert len(lease.claims) == 2
    assert (await store.ledger.lease("job", limits(count=5))).is_over


async def test_nothing_of_a_job_that_is_over_is_leased_or_committed(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    (claim,) = (await store.ledger.lease("job", limits(count=1))).claims

    assert await store.ledger.finish_job("job", JobStatus.CANCELLED)
    assert not await store.ledger.finish_job("job", JobStatus.COMPLETED)
    assert (await store.ledger.lease("job", limits())).is_over
    with pytest.raises(LeaseLost):
        await store.ledger.commit(
            store.ledger.page_commit(claim, lambda _: PageResult(fate=PageStatus.FETCHED))
        )
    assert (await store.ledger.count_pages("job")).fates == {PageStatus.LEFT: 2}


async def test_a_job_nobody_leases_from_is_unattended(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    assert await store.ledger.list_unattended() == ["job"]

    await store.ledger.lease("job", limits(seconds=10))
    assert await store.ledger.list_unattended() == []
    clock.move_on(timedelta(seconds=10))
    assert await store.ledger.list_unattended() == ["job"]


async def test_a_job_that_was_left_is_unattended_at_once(store: Store) -> None:
    for job_id in ("left", "kept", "failing"):
        await store.ledger.add_job(a_job(job_id))
        await store.ledger.lease(job_id, limits())
    await store.ledger.note_failure("failing", "It broke", 10_000)

    await store.ledger.leave_jobs(["left", "failing"])

    assert await store.ledger.list_unattended() == ["left"]
