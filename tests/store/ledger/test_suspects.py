"""Suspects on both databases: pages that a process died with come last, alone, and not for ever."""

from datetime import timedelta

import pytest

from cinder.models.job import JobStatus, PageLease, PageResult, PageState, PageStatus
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.ledger.samples import HOST, a_job, a_page, commit_page, ledger_of, limits, the_job
from tests.store.samples import Clock

LEASE = 10


async def lease(store: Store, count: int = 10, **changes: bool) -> tuple[PageLease, ...]:
    return (await store.ledger.lease("job", limits(count=count, seconds=LEASE, **changes))).claims


async def claim_alone(store: Store, crash_tries: int = 3) -> PageLease | None:
    """Claim a suspect, if there is one to claim."""
    alone = limits(count=5, seconds=LEASE, is_alone=True, crash_tries=crash_tries)
    claims = (await store.ledger.lease("job", alone)).claims
    assert len(claims) <= 1
    return claims[0] if claims else None


async def lease_alone(store: Store, crash_tries: int = 3) -> str | None:
    """Claim a suspect; return its path."""
    claim = await claim_alone(store, crash_tries)
    return claim.url.removeprefix(HOST) if claim else None


def die(clock: Clock) -> None:
    """Let the leases of a process that died run out."""
    clock.move_on(timedelta(seconds=LEASE + 1))


async def test_pages_that_were_only_leased_when_processes_died_are_never_failed(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(8)])
    for _ in range(5):
        await lease(store)
        die(clock)
    assert await lease(store) == ()
    for _ in range(8):
        claim = await claim_alone(store)
        assert claim is not None
        await commit_page(store, claim)

    assert (await store.ledger.lease("job", limits())).is_over
    assert {page.fate for page in (await ledger_of(store)).values()} == {PageStatus.FETCHED}


async def test_suspects_come_after_all_other_pages_and_one_by_one(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page(f"/{n}") for n in range(4)])
    await lease(store, 2)
    die(clock)

    assert await lease_alone(store) is None  # others are queued
    others = await lease(store)
    assert {claim.url.removeprefix(HOST) for claim in others} == {"/2", "/3"}
    assert await lease_alone(store) is None  # others are under way
    await commit_page(store, others[0], found=(a_page("/found"),))
    await commit_page(store, others[1])
    (found,) = await lease(store)
    await commit_page(store, found)

    left = await store.ledger.lease("job", limits())
    assert (left.claims, left.has_suspects, left.is_over) == ((), True, False)
    assert [await lease_alone(store), await lease_alone(store)] == ["/0", "/1"]


async def test_page_that_ends_every_process_fails_after_its_tries_alone_and_takes_no_other_along(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/poison"), a_page("/1"), a_page("/2")])
    await lease(store)
    die(clock)
    order = []
    while claim := await claim_alone(store):
        order.append(claim.url.removeprefix(HOST))
        if order[-1] == "/poison":
            die(clock)
        else:
            await commit_page(store, claim)

    assert order == ["/poison", "/1", "/2", "/poison", "/poison"]
    pages = await ledger_of(store)
    assert {path: page.fate for path, page in pages.items()} == {
        "/poison": PageStatus.FAILED,
        "/1": PageStatus.FETCHED,
        "/2": PageStatus.FETCHED,
    }
    assert "3 times it fetched this page alone" in pages["/poison"].reason
    assert (await the_job(store)).failed == 1


async def test_number_of_tries_alone_is_the_callers(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/poison")])
    await lease(store)
    die(clock)
    assert await lease_alone(store, crash_tries=1) == "/poison"
    die(clock)

    assert await lease_alone(store, crash_tries=1) is None
    (page,) = await store.ledger.list_pages("job", [PageStatus.FAILED], offset=0, limit=10)
    assert "the time it fetched this page alone" in page.reason


async def test_suspects_of_two_workers_are_tried_side_by_side(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2"), a_page("/3")])
    await lease(store)
    die(clock)

    paths = [await lease_alone(store), await lease_alone(store)]
    die(clock)

    assert paths == ["/1", "/2"]
    # The page that was not being fetched when both died has not been tried yet, and is next.
    assert [await lease_alone(store) for _ in range(3)] == ["/3", "/1", "/2"]


async def test_suspect_that_is_given_back_is_a_suspect_still_and_no_try(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    await lease(store)
    die(clock)
    for _ in range(5):
        await store.ledger.release(await lease(store, 1, is_alone=True))

    assert (await store.ledger.lease("job", limits())).has_suspects
    assert await lease_alone(store) == "/1"


async def test_suspects_host_is_asked_no_more_often_than_it_wants(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    await lease(store)
    die(clock)
    await store.ledger.slow_down(HOST, delay_ms=5_000)
    alone = limits(is_alone=True)

    (claim,) = (await store.ledger.lease("job", alone)).claims
    waiting = await store.ledger.lease("job", alone)
    await commit_page(store, claim)
    clock.move_on(timedelta(seconds=5))

    assert (claim.delay_ms, waiting.claims, waiting.wait_ms) == (5_000, (), 5_000)
    assert len((await store.ledger.lease("job", alone)).claims) == 1


async def test_worker_that_was_frozen_cannot_write_a_suspect(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    (frozen,) = await lease(store)
    die(clock)
    assert await lease(store) == ()

    await store.ledger.renew([frozen], LEASE)
    await store.ledger.release([frozen])
    with pytest.raises(LeaseLost):
        await commit_page(store, frozen)
    assert (await store.ledger.lease("job", limits())).has_suspects


async def test_suspects_are_counted_and_listed_as_queued_and_left_out_at_the_end(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    await lease(store)
    die(clock)
    await lease(store)

    assert (await store.ledger.count_pages("job")).queued == 2
    assert {page.state for page in (await ledger_of(store)).values()} == {PageState.QUEUED}
    await store.ledger.finish_job("job", JobStatus.CANCELLED)
    assert {page.fate for page in (await ledger_of(store)).values()} == {PageStatus.LEFT}


async def test_redirect_to_a_suspect_is_its_result(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    await lease(store, 1)
    die(clock)
    (other,) = await lease(store)
    landed = PageResult(fate=PageStatus.FETCHED, landed_on=a_page("/1"))
    await commit_page(store, other, landed)

    assert (await store.ledger.lease("job", limits())).is_over
    pages = await ledger_of(store)
    assert (pages["/1"].fate, pages["/2"].fate) == (PageStatus.FETCHED, PageStatus.DUPLICATE)
