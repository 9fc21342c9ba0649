"""Courtesy to hosts: what they allow, how fast they want to be asked, and who knows of it."""

from datetime import timedelta

import pytest

from cinder.model.job import Claim
from cinder.services.jobs.courtesy import Courtesy, TryAgain
from cinder.services.jobs.robots import RobotsKeeper
from cinder.store import Store
from tests.services.jobs.samples import HOST, TableFetcher, a_claim, an_outcome
from tests.store.ledger.samples import a_job, a_page, limits
from tests.store.samples import Clock

ROBOTS = f"{HOST}/robots.txt"


def make(
    store: Store, clock: Clock, robots: bytes | int | None = b"", *, delay_ms: int = 0
) -> Courtesy:
    keeper = RobotsKeeper(store.ledger, TableFetcher({ROBOTS: robots}), clock)
    return Courtesy(store.ledger, keeper, delay_ms=delay_ms)


async def claim_page(store: Store) -> Claim:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    (claim,) = (await store.ledger.lease("job", limits(count=1))).claims
    return claim


async def delay_of(store: Store) -> int:
    return (await store.ledger.find_host(HOST)).delay_ms


async def test_a_page_is_judged_by_the_rules_of_its_site(store: Store, clock: Clock) -> None:
    courtesy = make(store, clock, b"User-agent: cinder\nDisallow: /private")

    assert await courtesy.judge(a_claim("/public")) is None
    assert await courtesy.judge(a_claim("/private")) == "disallowed by robots.txt"
    assert courtesy.refuse_landing(f"{HOST}/private/x") == "disallowed by robots.txt"
    assert courtesy.refuse_landing(f"{HOST}/x") is None
    assert courtesy.refuse_landing("https://unknown.test/private") is None


async def test_while_a_site_cannot_say_its_pages_wait_longer_and_longer(
    store: Store, clock: Clock
) -> None:
    courtesy = make(store, clock, 503)
    pauses = []
    for tries in range(4):
        with pytest.raises(TryAgain) as again:
            await courtesy.judge(a_claim(tries=tries))
        pauses.append(again.value.pause_ms)

    assert pauses == [30_000, 60_000, 120_000, 240_000]
    said = await courtesy.judge(a_claim(tries=4))
    assert said == "disallowed by robots.txt for now: it answered 503"


async def test_the_longest_of_the_times_asked_for_is_kept_by_all(
    store: Store, clock: Clock
) -> None:
    claim = await claim_page(store)
    courtesy = make(store, clock, b"User-agent: *\nCrawl-delay: 3", delay_ms=500)

    with pytest.raises(TryAgain) as again:
        await courtesy.judge(claim)
    await courtesy.come_back_later(claim, again.value)
    assert await delay_of(store) == 3_000
    assert not (await store.ledger.lease("job", limits())).claims

    clock.move_on(timedelta(seconds=3))
    (again_claimed,) = (await store.ledger.lease("job", limits())).claims
    assert (again_claimed.tries, again_claimed.delay_ms) == (0, 3_000)
    assert await courtesy.judge(again_claimed) is None


async def test_a_host_that_says_not_now_is_asked_later_and_the_page_is_not_lost(
    store: Store, clock: Clock
) -> None:
    courtesy, claim = make(store, clock), await claim_page(store)
    await courtesy.judge(claim)
    with pytest.raises(TryAgain) as again:
        courtesy.check(claim, an_outcome(status_code=429))
    await courtesy.come_back_later(claim, again.value)

    waiting = await store.ledger.lease("job", limits())
    assert (waiting.claims, waiting.wait_ms) == ((), 1_000)
    clock.move_on(timedelta(seconds=1))
    (next_claim,) = (await store.ledger.lease("job", limits())).claims
    assert (next_claim.url, next_claim.tries) == (claim.url, 1)


async def test_a_host_that_always_says_not_now_has_said_so(store: Store, clock: Clock) -> None:
    courtesy = make(store, clock)
    courtesy.check(a_claim(tries=4), an_outcome(status_code=503))
    with pytest.raises(TryAgain):
        courtesy.check(a_claim(tries=3), an_outcome(status_code=503))


async def test_a_slow_host_is_given_time_by_all(store: Store, clock: Clock) -> None:
    courtesy, claim = make(store, clock), await claim_page(store)
    await courtesy.note(claim, an_outcome(spent_ms=8_000))

    assert await delay_of(store) == 4_000


async def test_a_host_that_does_well_again_is_asked_faster_by_who_comes_later(
    store: Store, clock: Clock
) -> None:
    claim = await claim_page(store)
    await make(store, clock).note(claim, an_outcome(status_code=429))
    assert await delay_of(store) == 1_000

    other = make(store, clock)
    await other.judge(claim)
    for _ in range(30):
        await other.note(claim, an_outcome())
    assert await delay_of(store) == 0
