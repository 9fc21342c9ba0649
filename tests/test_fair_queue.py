"""Who gets the next slot, and how many one caller may hold."""

import asyncio

import pytest

from cinder.fair_queue import NO_CALLER, FairQueue, FairSlot, Requester, slots_without_reserve
from cinder.models.request import OWNER

DEADLINE_SECONDS = 60


def of(caller: str, site: str = "", *, job: bool = False) -> Requester:
    return Requester(caller=caller, site=site, is_job=job)


class Queue:
    """Requesters of slots, and the order in which they got them."""

    def __init__(self, count: int, group: asyncio.TaskGroup) -> None:
        self.places = FairQueue(count)
        self.served: list[Requester] = []
        self._group = group
        self._held: list[FairSlot] = []

    async def ask(self, *claimants: Requester) -> None:
        """Request slots, one after another."""
        for who in claimants:
            self._group.create_task(self._take(who))
            await self._settle()

    async def leave(self, index: int = 0) -> None:
        """Give one of the held slots back."""
        self.places.give_back(self._held.pop(index))
        await self._settle()

    async def leave_all(self) -> list[Requester]:
        """Give slots back, one after another, until none is left; return who was served."""
        while self._held:
            await self.leave()
        return self.served

    async def _take(self, who: Requester) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            place = await self.places.take(who)
        self.served.append(who)
        self._held.append(place)

    async def _settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.parametrize(("places", "kept"), [(1, 0), (2, 1), (4, 1), (8, 2), (64, 16)])
def test_a_quarter_is_kept_for_others_and_never_the_only_place(places: int, kept: int) -> None:
    assert places - slots_without_reserve(places) == kept


@pytest.mark.parametrize("lone", [OWNER, NO_CALLER])
async def test_who_is_alone_may_have_all_places(lone: str) -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(4, group)
        await queue.ask(*[of(lone)] * 6)
        assert len(queue.served) == 4
        await queue.leave_all()


async def test_a_caller_never_has_all_places_and_the_next_one_gets_his_at_once() -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(4, group)
        await queue.ask(*[of("alice")] * 12)
        assert queue.served == [of("alice")] * 3
        await queue.ask(of("bob"))
        assert queue.served[-1] == of("bob")
        await queue.leave_all()


async def test_the_caller_with_the_fewest_places_goes_first() -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(4, group)
        await queue.ask(*[of("alice")] * 2, *[of("bob")] * 2, of("alice"), of("bob"))
        await queue.leave(2)
        assert queue.served[4:] == [of("bob")], (
            "bob had one slot, and alice, who came first, had two"
        )
        await queue.leave_all()


async def test_callers_take_turns_at_the_only_place() -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(1, group)
        await queue.ask(*[of("alice")] * 4, of("bob"), of("bob"))
        callers = [who.caller for who in await queue.leave_all()]
    assert callers == ["alice", "bob", "alice", "bob", "alice", "alice"]


async def test_a_callers_sites_take_turns() -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(3, group)
        await queue.ask(*[of("alice", "a")] * 4, of("alice", "b"))
        await queue.leave()
        assert queue.served[-1] == of("alice", "b")
        await queue.leave_all()


async def test_jobs_leave_a_place_to_what_is_waited_for_even_by_the_same_caller() -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(4, group)
        await queue.ask(*[of(OWNER, job=True)] * 6)
        assert len(queue.served) == 3
        await queue.ask(of(OWNER))
        assert queue.served[-1] == of(OWNER)
        await queue.leave_all()


async def test_a_callers_jobs_and_pages_leave_a_place_to_others() -> None:
    async with asyncio.TaskGroup() as group:
        queue = Queue(4, group)
        await queue.ask(*[of("alice", job=True)] * 6, *[of("alice")] * 6)
        assert queue.served == [*[of("alice", job=True)] * 2, of("alice")]
        await queue.ask(of("bob", job=True))
        assert queue.served[-1] == of("bob", job=True)
        await queue.leave_all()


async def test_who_gives_up_waiting_keeps_nobody_from_a_place() -> None:
    places = FairQueue(1)
    first = await places.take(of("alice"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await places.take(of("bob"))
    assert not places.has_room_for(of("carol"))
    places.give_back(first)
    assert places.has_room_for(of("carol"))
