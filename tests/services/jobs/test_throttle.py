"""The host throttle: longer delays for busy hosts, shorter ones after good responses."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.models.job import PageLease
from cinder.services.jobs.site_files import RobotsCache
from cinder.services.jobs.throttle import HostDelay, HostThrottle, RetryLater
from cinder.store.documents import Store
from tests.services.jobs.samples import HOST, TableFetcher, a_lease, an_outcome
from tests.store.ledger.samples import a_job, a_page, limits
from tests.store.samples import Clock

ROBOTS = f"{HOST}/robots.txt"


def make(
    store: Store, clock: Clock, robots: bytes | int | None = b"", *, delay_ms: int = 0
) -> HostThrottle:
    keeper = RobotsCache(store.ledger, TableFetcher({ROBOTS: robots}), clock)
    return HostThrottle(store.ledger, keeper, delay_ms=delay_ms)


async def claim_page(store: Store) -> PageLease:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2")])
    (claim,) = (await store.ledger.lease("job", limits(count=1))).claims
    return claim


async def delay_of(store: Store) -> int:
    return (await store.ledger.find_host(HOST)).delay_ms


async def test_a_page_is_judged_by_the_rules_of_its_site(store: Store, clock: Clock) -> None:
    throttle = make(store, clock, b"User-agent: cinder\nDisallow: /private")

    assert await throttle.judge(a_lease("/public")) is None
    assert await throttle.judge(a_lease("/private")) == "disallowed by robots.txt"
    assert throttle.refuse_landing(f"{HOST}/private/x") == "disallowed by robots.txt"
    assert throttle.refuse_landing(f"{HOST}/x") is None
    assert throttle.refuse_landing("https://unknown.test/private") is None


async def test_while_a_site_cannot_say_its_pages_wait_longer_and_longer(
    store: Store, clock: Clock
) -> None:
    throttle = make(store, clock, 503)
    pauses = []
    for tries in range(4):
        with pytest.raises(RetryLater) as again:
            await throttle.judge(a_lease(tries=tries))
        pauses.append(again.value.pause_ms)

    assert pauses == [30_000, 60_000, 120_000, 240_000]
    reason = await throttle.judge(a_lease(tries=4))
    assert reason == "disallowed by robots.txt for now: it answered 503"


async def test_the_longest_of_the_times_asked_for_is_kept_by_all(
    store: Store, clock: Clock
) -> None:
    claim = await claim_page(store)
    throttle = make(store, clock, b"User-agent: *\nCrawl-delay: 3", delay_ms=500)

    with pytest.raises(RetryLater) as again:
        await throttle.judge(claim)
    await throttle.requeue(claim, again.value)
    assert await delay_of(store) == 3_000
    assert not (await store.ledger.lease("job", limits())).claims

    clock.move_on(timedelta(seconds=3))
    (again_claimed,) = (await store.ledger.lease("job", limits())).claims
    assert (again_claimed.tries, again_claimed.delay_ms) == (0, 3_000)
    assert await throttle.judge(again_claimed) is None


async def test_a_host_that_says_not_now_is_asked_later_and_the_page_is_not_lost(
    store: Store, clock: Clock
) -> None:
    throttle, claim = make(store, clock), await claim_page(store)
    await throttle.judge(claim)
    with pytest.raises(RetryLater) as again:
        throttle.check(claim, an_outcome(status_code=429))
    await throttle.requeue(claim, again.value)

    waiting = await store.ledger.lease("job", limits())
    assert (waiting.claims, waiting.wait_ms) == ((), 1_000)
    clock.move_on(timedelta(seconds=1))
    (next_claim,) = (await store.ledger.lease("job", limits())).claims
    assert (next_claim.url, next_claim.tries) == (claim.url, 1)


async def test_a_host_that_always_says_not_now_has_said_so(store: Store, clock: Clock) -> None:
    throttle = make(store, clock)
    throttle.check(a_lease(tries=4), an_outcome(status_code=503))
    with pytest.raises(RetryLater):
        throttle.check(a_lease(tries=3), an_outcome(status_code=503))


async def test_a_slow_host_is_given_time_by_all(store: Store, clock: Clock) -> None:
    throttle, claim = make(store, clock), await claim_page(store)
    await throttle.note(claim, an_outcome(spent_ms=8_000))

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


def test_a_host_that_answers_well_is_given_no_time_in_between() -> None:
    pace = HostDelay()

    assert [pace.note(200, 50) for _ in range(30)] == [None] * 30
    assert pace.delay_ms == 0


def test_each_refusal_doubles_the_time_up_to_a_bound() -> None:
    pace = HostDelay()

    assert [pace.note(429, 50) for _ in range(8)] == [
        *(1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000),
        None,
    ]


def test_a_host_that_does_well_again_is_asked_faster_step_by_step() -> None:
    pace = HostDelay()
    pace.note(503, 50)
    delays = [pace.note(200, 50) for _ in range(40)]

    assert [delay for delay in delays if delay is not None] == [500, 250, 0]
    assert delays[9] == 500


def test_a_slow_host_is_given_half_the_time_it_takes() -> None:
    pace = HostDelay()

    assert pace.note(200, 6_000) == 3_000
    assert pace.note(200, 6_000) is None


def test_what_the_site_asks_for_is_the_least_time() -> None:
    pace = HostDelay(least_delay_ms=700, delay_ms=700)
    pace.note(429, 50)
    delays = [pace.note(200, 50) for _ in range(50)]

    assert [delay for delay in delays if delay is not None] == [700]


@given(
    st.integers(0, 5_000),
    st.lists(st.tuples(st.sampled_from([200, 404, 429, 503]), st.integers(0, 10**6))),
)
def test_the_time_in_between_stays_within_its_bounds(
    least: int, answers: list[tuple[int, int]]
) -> None:
    pace = HostDelay(least_delay_ms=least, delay_ms=least)
    for status, spent in answers:
        pace.note(status, spent)
        assert least <= pace.delay_ms <= 60_000
