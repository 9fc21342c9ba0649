"""What sites let robots do: asked once for all, kept for all, and waited for where it is down."""

import asyncio
from datetime import timedelta

import pytest

from cinder.errors import CinderError, DnsFailed, EgressBlocked
from cinder.services.jobs.robots import RobotsKeeper
from cinder.store import Store
from tests.services.jobs.samples import HOST, TableFetcher
from tests.store.samples import Clock

ROBOTS = f"{HOST}/robots.txt"
RULES = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2"


async def test_many_who_ask_at_once_cost_a_site_one_request(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher({ROBOTS: RULES})
    keeper = RobotsKeeper(store.ledger, fetcher, clock)

    rules = await asyncio.gather(*(keeper.rules(HOST) for _ in range(20)))

    assert fetcher.asked == {ROBOTS: 1}
    assert all(each is rules[0] for each in rules)
    assert rules[0].judge(f"{HOST}/private/x") == "disallowed by robots.txt"
    assert rules[0].judge(f"{HOST}/public") is None
    assert rules[0].crawl_delay_seconds == 2


async def test_what_one_process_asked_another_knows(store: Store, clock: Clock) -> None:
    await RobotsKeeper(store.ledger, TableFetcher({ROBOTS: RULES}), clock).rules(HOST)
    nobody = TableFetcher({})
    rules = await RobotsKeeper(store.ledger, nobody, clock).rules(HOST)

    assert not nobody.asked
    assert rules.judge(f"{HOST}/private/x") is not None


async def test_rules_are_asked_for_again_after_a_day(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher({ROBOTS: RULES})
    keeper = RobotsKeeper(store.ledger, fetcher, clock)
    await keeper.rules(HOST)
    fetcher.table[ROBOTS] = b""
    clock.move_on(timedelta(hours=23))
    assert (await keeper.rules(HOST)).judge(f"{HOST}/private") is not None
    clock.move_on(timedelta(hours=1))

    assert (await keeper.rules(HOST)).judge(f"{HOST}/private") is None
    assert fetcher.asked == {ROBOTS: 2}


async def test_a_site_without_rules_allows_all(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher({ROBOTS: 403})
    keeper = RobotsKeeper(store.ledger, fetcher, clock)

    for _ in range(2):
        rules = await keeper.rules(HOST)
        assert (rules.must_wait, rules.judge(f"{HOST}/x")) == (False, None)
    assert fetcher.asked == {ROBOTS: 1}


async def test_a_site_that_cannot_say_is_waited_for_and_asked_again(
    store: Store, clock: Clock
) -> None:
    fetcher = TableFetcher({ROBOTS: 503})
    keeper = RobotsKeeper(store.ledger, fetcher, clock)
    assert (await keeper.rules(HOST)).must_wait
    fetcher.table[ROBOTS] = None
    assert (await keeper.rules(HOST)).must_wait
    assert (await store.ledger.find_host(HOST)).robots_failures == 2
    fetcher.table[ROBOTS] = RULES

    assert not (await keeper.rules(HOST)).must_wait
    assert (await store.ledger.find_host(HOST)).robots_failures == 0


@pytest.mark.parametrize("kind", [EgressBlocked, DnsFailed])
async def test_a_host_that_cannot_be_reached_at_all_is_not_waited_for(
    store: Store, clock: Clock, kind: type[CinderError]
) -> None:
    fetcher = TableFetcher({ROBOTS: kind("It cannot be reached", url=ROBOTS)})
    keeper = RobotsKeeper(store.ledger, fetcher, clock)
    with pytest.raises(kind):
        await keeper.rules(HOST)


async def test_a_robots_txt_that_leads_where_nobody_may_go_is_waited_for(
    store: Store, clock: Clock
) -> None:
    elsewhere = EgressBlocked("It is not public", url="http://127.0.0.1:1/robots.txt")
    keeper = RobotsKeeper(store.ledger, TableFetcher({ROBOTS: elsewhere}), clock)
    assert (await keeper.rules(HOST)).must_wait
