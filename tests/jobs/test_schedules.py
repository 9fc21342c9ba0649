"""Schedules on both databases: each due job is started once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from cinder.errors import InvalidRequest
from cinder.jobs.schedules import Schedules, next_time
from cinder.models.document import Json
from cinder.models.job import JobKind
from cinder.store import open_store
from cinder.store.documents import Store
from tests.store.samples import Clock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Starts:
    """Records the started jobs; fails while the test says so."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.is_failing = False

    async def __call__(
        self, owner: str, kind: JobKind, spec: dict[str, Json], idempotency_key: str
    ) -> None:
        if self.is_failing:
            raise OSError("not now")
        assert (owner, kind, spec) == ("me", JobKind.CRAWL, {"url": "https://site.test"})
        self.keys.append(idempotency_key)


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = NOON
    return clock


@pytest.fixture
async def store(store_url: str, clock: Clock) -> AsyncIterator[Store]:
    async with open_store(store_url, pool_size=4, observe=lambda *_: None, clock=clock) as store:
        yield store


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def schedules(store: Store, starts: Starts, clock: Clock) -> Schedules:
    return Schedules(store.ledger, starts, clock=clock)


async def add(schedules: Schedules, cron: str = "30 * * * *", *, owner: str = "me") -> None:
    await schedules.add(owner, "news", cron, JobKind.CRAWL, {"url": "https://site.test"})


async def test_a_job_is_started_when_its_time_has_come_and_not_before(
    schedules: Schedules, starts: Starts, clock: Clock
) -> None:
    await add(schedules)

    assert await schedules.start_due() == 0
    clock.move_on(timedelta(minutes=30))
    assert await schedules.start_due() == 1
    assert await schedules.start_due() == 0
    clock.move_on(timedelta(minutes=60))
    assert await schedules.start_due() == 1
    assert starts.keys == ["schedule news 2026-03-01T12:30Z", "schedule news 2026-03-01T13:30Z"]


async def test_many_sweeps_at_once_start_a_job_once(
    schedules: Schedules, store: Store, starts: Starts, clock: Clock
) -> None:
    await add(schedules)
    clock.move_on(timedelta(minutes=30))
    many = [Schedules(store.ledger, starts, clock=clock) for _ in range(8)]

    started = await asyncio.gather(*(each.start_due() for each in many))

    assert sum(started) == len(starts.keys) == 1


async def test_times_that_passed_unseen_are_made_up_for_once(
    schedules: Schedules, starts: Starts, clock: Clock
) -> None:
    await add(schedules)
    clock.move_on(timedelta(days=3))

    assert await schedules.start_due() == 1
    assert await schedules.start_due() == 0
    (schedule,) = await schedules.list("me")
    assert starts.keys == ["schedule news 2026-03-04T11:30Z"]
    assert schedule.next_at == NOON + timedelta(days=3, minutes=30)


async def test_a_start_that_fails_is_tried_again_under_the_same_key(
    schedules: Schedules, starts: Starts, clock: Clock
) -> None:
    await add(schedules)
    clock.move_on(timedelta(minutes=30))
    starts.is_failing = True
    assert await schedules.start_due() == 0
    starts.is_failing = False

    assert await schedules.start_due() == 0
    clock.move_on(timedelta(seconds=61))
    assert await schedules.start_due() == 1
    assert starts.keys == ["schedule news 2026-03-01T12:30Z"]


async def test_a_schedule_is_replaced_by_its_owner_alone_and_can_be_removed(
    schedules: Schedules,
) -> None:
    await add(schedules)
    await add(schedules, "0 6 * * 1")

    with pytest.raises(InvalidRequest, match="is taken"):
        await add(schedules, owner="other")
    assert [each.cron for each in await schedules.list("me")] == ["0 6 * * 1"]
    assert await schedules.list("other") == []
    assert not await schedules.remove("other", "news")
    assert await schedules.remove("me", "news")
    assert await schedules.list("me") == []


@pytest.mark.parametrize(
    "cron",
    ["", "soon", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "R R * * *", "@hourly"],
)
def test_what_is_no_cron_expression_is_refused(cron: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a cron expression"):
        next_time(cron, NOON)


def test_the_next_time_is_in_utc() -> None:
    assert next_time("0 6 * * 1", NOON) == datetime(2026, 3, 2, 6, tzinfo=UTC)
