"""A clock that is set forward or back: pages are neither held up nor lost nor written twice."""

from datetime import timedelta

import pytest

from cinder.models.job import PageState
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.ledger.samples import (
    HOST,
    a_job,
    a_page,
    claim_one,
    commit_page,
    ledger_of,
    limits,
    the_job,
)
from tests.store.samples import Clock

HOUR = timedelta(hours=1)


async def test_a_dead_workers_page_is_free_though_the_clock_was_set_back(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")])
    lost = await claim_one(store)
    clock.move_on(-HOUR)
    again = await claim_one(store, is_alone=True)
    assert again.page_id == lost.page_id
    with pytest.raises(LeaseLost):
        await commit_page(store, lost)
    await commit_page(store, again)
    assert (await the_job(store)).fetched == 1


async def test_a_live_workers_page_is_its_own_where_the_clock_is_set_a_little_back(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")])
    claim = await claim_one(store)
    clock.move_on(timedelta(minutes=-5))
    assert not (await store.ledger.lease("job", limits())).claims
    await commit_page(store, claim)
    assert (await ledger_of(store))["/"].state is PageState.DONE


async def test_a_host_that_rests_is_asked_again_though_the_clock_was_set_back(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/one"), a_page("/two"), a_page("/three")])
    await store.ledger.slow_down(HOST, delay_ms=0, pause_ms=30_000)
    assert not (await store.ledger.lease("job", limits())).claims
    clock.move_on(-HOUR)
    first = await claim_one(store)
    await commit_page(store, first)
    # An hour later the old rest would come true.
    clock.move_on(HOUR)
    await commit_page(store, await claim_one(store))


async def test_a_host_gets_its_time_between_requests_after_the_clock_was_set_back(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/one"), a_page("/two")])
    await store.ledger.slow_down(HOST, delay_ms=1_000)
    await commit_page(store, await claim_one(store))
    clock.move_on(-HOUR)
    await commit_page(store, await claim_one(store))
    await store.ledger.add_pages("job", [a_page("/three")])
    assert (await store.ledger.lease("job", limits())).wait_ms == 1_000


async def test_a_jobs_own_time_between_requests_does_not_become_an_hour(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/one"), a_page("/two")])
    slowly = limits(least_delay_ms=1_000)
    (first,) = (await store.ledger.lease("job", slowly)).claims
    await commit_page(store, first)
    assert not (await store.ledger.lease("job", slowly)).claims
    clock.move_on(-HOUR)
    assert len((await store.ledger.lease("job", slowly)).claims) == 1


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_job_that_nobody_looks_after_is_found(
    store: Store, clock: Clock, jump: timedelta
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")])
    await store.ledger.lease("job", limits())
    assert await store.ledger.list_unattended() == []
    clock.move_on(jump)
    assert await store.ledger.list_unattended() == ["job"]


async def test_a_page_whose_lease_a_jump_ended_is_written_once(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/")])
    first = await claim_one(store)
    clock.move_on(HOUR)
    second = await claim_one(store, is_alone=True)
    await commit_page(store, second)
    with pytest.raises(LeaseLost):
        await commit_page(store, first)
    assert (await store.ledger.lease("job", limits())).is_over
    job = await the_job(store)
    assert (job.fetched, job.failed) == (1, 0)
