"""Which jobs run now, in what order the others follow, and what no site may take."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from cinder.errors import Overloaded
from cinder.fair_queue import Requester
from cinder.models.request import OWNER
from cinder.sandbox.lanes import Lane, LaneLimits, Lanes, LaneSlot, may_start, may_wait, next_slot

LIMITS = LaneLimits(quick=2, slow=2, slow_waiting=4)


def quick(site: str) -> LaneSlot:
    return LaneSlot(Lane.QUICK, site)


def slow(site: str) -> LaneSlot:
    return LaneSlot(Lane.SLOW, site)


@pytest.mark.parametrize(
    ("place", "running", "expected"),
    [
        (quick("a"), [], True),
        (quick("a"), [quick("a")], True),
        (quick("a"), [quick("a"), quick("b")], False),
        (quick("a"), [slow("b"), slow("c"), quick("a")], True),
        (quick("a"), [slow("a"), quick("b")], True),
        (quick("a"), [slow("a"), quick("a")], False),
        (slow("a"), [quick("a"), quick("a")], True),
        (slow("a"), [slow("b")], True),
        (slow("a"), [slow("a")], False),
        (slow("a"), [slow("b"), slow("c")], False),
    ],
)
def test_a_job_starts_where_its_lane_and_its_site_have_room(
    place: LaneSlot, running: list[LaneSlot], expected: bool
) -> None:
    assert may_start(place, running, LIMITS) is expected


def test_a_site_has_the_only_place_of_a_lane() -> None:
    limits = LaneLimits(quick=1, slow=1, slow_waiting=1)
    assert may_start(slow("a"), [quick("a")], limits)
    assert may_start(quick("a"), [slow("a")], limits)


@pytest.mark.parametrize(
    ("place", "waiting", "expected"),
    [
        (quick("a"), [quick("a")] * 100, True),
        (slow("a"), [quick("a")] * 100, True),
        (slow("a"), [slow("a"), slow("b")], True),
        (slow("a"), [slow("a"), slow("a")], False),
        (slow("a"), [slow("b"), slow("b"), slow("c"), slow("c")], False),
    ],
)
def test_so_many_wait_for_the_slow_lane_and_no_site_takes_more_than_half(
    place: LaneSlot, waiting: list[LaneSlot], expected: bool
) -> None:
    assert may_wait(place, waiting, LIMITS) is expected


def test_the_first_of_a_site_with_the_fewest_jobs_is_next() -> None:
    waiting = [quick("a"), quick("b"), quick("b")]
    assert next_slot(waiting, [], LIMITS) is waiting[0]
    assert next_slot(waiting, [quick("a")], LIMITS) is waiting[1]
    assert next_slot(waiting, [quick("b")], LIMITS) is waiting[0]
    assert next_slot(waiting, [quick("a"), quick("b")], LIMITS) is None


async def test_a_job_that_moves_to_the_slow_lane_lets_the_next_one_in() -> None:
    lanes = Lanes(LaneLimits(quick=1, slow=1, slow_waiting=1))
    async with lanes.enter(Lane.QUICK, "a") as first:
        assert lanes.move_to_slow(first)
        async with lanes.enter(Lane.QUICK, "b") as second:
            assert not lanes.move_to_slow(second)
            assert [lanes.count_running(lane) for lane in Lane] == [1, 1]
    assert [lanes.count_running(lane) for lane in Lane] == [0, 0]


async def test_whoever_gives_up_waiting_leaves_no_place_behind() -> None:
    lanes = Lanes(LaneLimits(quick=1, slow=1, slow_waiting=1))
    async with lanes.enter(Lane.QUICK, "a"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), lanes.enter(Lane.QUICK, "b"):
                pytest.fail("there was no room")
        assert lanes.count_waiting(Lane.QUICK) == 0
    async with asyncio.timeout(60):
        await lanes.wait_until_empty()


async def test_beyond_the_waiting_the_slow_lane_refuses() -> None:
    lanes = Lanes(LaneLimits(quick=1, slow=1, slow_waiting=1))
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        await stack.enter_async_context(lanes.enter(Lane.SLOW, "a"))
        waiting = group.create_task(_pass_through(lanes, "b"))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await _pass_through(lanes, "c")
        waiting.cancel()


async def test_callers_take_turns_at_the_only_place() -> None:
    lanes = Lanes(LaneLimits(quick=1, slow=0, slow_waiting=0))
    served: list[str] = []

    async def pass_through(caller: str) -> None:
        async with lanes.enter(Lane.QUICK, "a", Requester(caller=caller)):
            served.append(caller)

    async with (
        asyncio.TaskGroup() as group,
        lanes.enter(Lane.QUICK, "a", Requester(caller="alice")),
    ):
        for caller in ("alice", "alice", "alice", "bob"):
            group.create_task(pass_through(caller))
        await asyncio.sleep(0)
    assert served == ["bob", "alice", "alice", "alice"]


async def test_no_caller_fills_the_queue_of_the_slow_lane() -> None:
    lanes = Lanes(LaneLimits(quick=1, slow=1, slow_waiting=4))
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        await stack.enter_async_context(lanes.enter(Lane.SLOW, "a", Requester(caller="alice")))
        waiting = [group.create_task(_pass_through(lanes, site, "alice")) for site in "bcd"]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await _pass_through(lanes, "e", "alice")
        waiting.append(group.create_task(_pass_through(lanes, "e", "bob")))
        await asyncio.sleep(0)
        assert lanes.count_waiting(Lane.SLOW) == 4
        for task in waiting:
            task.cancel()


async def _pass_through(lanes: Lanes, site: str, caller: str = OWNER) -> None:
    async with lanes.enter(Lane.SLOW, site, Requester(caller=caller)):
        pass
