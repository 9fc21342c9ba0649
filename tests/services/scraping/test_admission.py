import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from cinder.errors import Overloaded, RateLimited, ScrapeFailed
from cinder.models.request import OWNER
from cinder.services.scraping.admission import Admission, AdmissionLimits, SingleFlight

LIMITS = AdmissionLimits(most=64, least=4, wait_seconds=0.05, interval_seconds=0.25)


class Machine:
    """A clock and a queue, both as the test says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wait = 0.0
        self.admission = Admission(LIMITS, recent_wait=lambda: self.wait, clock=lambda: self.now)

    async def count_admitted(self, caller: str = OWNER) -> int:
        """Return how many are let in at once, and let them all go again."""
        async with AsyncExitStack() as pages:
            for admitted in range(2 * LIMITS.most):
                try:
                    await pages.enter_async_context(self.admission.admit(caller))
                except Overloaded:
                    return admitted
        raise AssertionError("nobody was refused")

    async def spend_moments(self, count: int) -> int:
        """Let moments pass, with more asked for than is let in; return how many are at the end."""
        for _ in range(count):
            await self.count_admitted()
            self.now += LIMITS.interval_seconds
        return await self.count_admitted()


@pytest.fixture
def machine() -> Machine:
    return Machine()


async def test_a_burst_is_let_in_up_to_the_most(machine: Machine) -> None:
    assert await machine.count_admitted() == LIMITS.most
    async with machine.admission.admit():
        assert await machine.count_admitted() == LIMITS.most - 1


async def test_a_queue_that_lasts_lets_fewer_in_down_to_the_least(machine: Machine) -> None:
    machine.wait = 0.2
    assert await machine.spend_moments(3) < LIMITS.most
    assert await machine.spend_moments(20) == LIMITS.least


async def test_one_page_that_did_not_wait_is_enough_for_a_burst_to_be_borne(
    machine: Machine,
) -> None:
    for _ in range(10):
        for machine.wait in (0.2, 0.0):
            await machine.count_admitted()
        machine.now += LIMITS.interval_seconds
    assert await machine.count_admitted() == LIMITS.most


async def test_more_are_let_in_one_by_one_while_some_are_refused_and_soon_all(
    machine: Machine,
) -> None:
    machine.wait = 0.2
    await machine.spend_moments(20)
    machine.wait = 0.0
    assert await machine.spend_moments(4) in range(LIMITS.least + 3, LIMITS.least + 6)
    for _ in range(10):
        machine.now += LIMITS.interval_seconds
        async with machine.admission.admit():
            pass
    assert await machine.count_admitted() == LIMITS.most


async def test_who_is_refused_leaves_no_trace(machine: Machine) -> None:
    for _ in range(3):
        assert await machine.count_admitted() == LIMITS.most


async def hold(admission: Admission, pages: AsyncExitStack, caller: str, count: int) -> None:
    """Have so many pages of a caller under way."""
    for _ in range(count):
        await pages.enter_async_context(admission.admit(caller))


async def test_a_caller_has_all_but_a_quarter_and_is_told_of_the_setting(machine: Machine) -> None:
    async with AsyncExitStack() as pages:
        await hold(machine.admission, pages, "alice", 48)
        with pytest.raises(RateLimited, match=r"scrape\.max-in-flight-per-caller"):
            async with machine.admission.admit("alice"):
                pytest.fail("alice has had her share")
        assert await machine.count_admitted("bob") == 16


async def test_the_owner_keeps_to_a_share_once_there_are_others(machine: Machine) -> None:
    async with machine.admission.admit("bob"), AsyncExitStack() as pages:
        await hold(machine.admission, pages, OWNER, 48)
        with pytest.raises(RateLimited):
            async with machine.admission.admit():
                pytest.fail("the owner counts as one caller")


async def test_the_share_can_be_set_and_is_everybodys_then() -> None:
    admission = Admission(AdmissionLimits(most=64, most_per_caller=2))
    async with AsyncExitStack() as pages:
        for caller in (OWNER, "alice"):
            await hold(admission, pages, caller, 2)
            with pytest.raises(RateLimited):
                async with admission.admit(caller):
                    pytest.fail("two are enough")


async def test_where_fewer_are_let_in_a_caller_with_few_has_an_equal_part(machine: Machine) -> None:
    machine.wait = 0.2
    async with AsyncExitStack() as pages:
        await hold(machine.admission, pages, "alice", 40)
        for _ in range(8):
            machine.now += LIMITS.interval_seconds
            with suppress(Overloaded):
                async with machine.admission.admit("alice"):
                    pass
        with pytest.raises(Overloaded):
            async with machine.admission.admit("alice"):
                pytest.fail("alice has more than are let in")
        assert await machine.count_admitted("bob") == LIMITS.least // 2


# The queue


class Pages:
    """Pages that are under way until they are let go, each by its name."""

    def __init__(self, admission: Admission, tasks: asyncio.TaskGroup) -> None:
        self.admission = admission
        self.admitted: list[str] = []
        self._tasks = tasks
        self._ends: dict[str, asyncio.Event] = {}

    async def send(
        self, name: str, *, caller: str = OWNER, is_rendered: bool = False, patience: float = 60
    ) -> asyncio.Task[None]:
        self._ends[name] = asyncio.Event()
        task = self._tasks.create_task(self._run(name, caller, patience, is_rendered=is_rendered))
        await asyncio.sleep(0)
        return task

    async def _run(self, name: str, caller: str, patience: float, *, is_rendered: bool) -> None:
        admitting = self.admission.admit(caller, patience_seconds=patience, is_rendered=is_rendered)
        with suppress(Overloaded):
            async with admitting:
                self.admitted.append(name)
                await self._ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
        for _ in range(5):
            await asyncio.sleep(0)


FEW = AdmissionLimits(most=2, queued=2)


async def test_a_few_pages_wait_for_their_turn_and_the_next_is_refused_at_once() -> None:
    async with asyncio.TaskGroup() as tasks:
        pages = Pages(Admission(FEW), tasks)
        for name in "abcd":
            await pages.send(name)
        with pytest.raises(Overloaded, match=r"scrape\.max-queued"):
            async with pages.admission.admit(patience_seconds=60):
                pytest.fail("two wait already")
        assert pages.admitted == ["a", "b"]
        await pages.end("a")
        assert pages.admitted == ["a", "b", "c"]
        await pages.end("b", "c", "d")
    assert pages.admitted == ["a", "b", "c", "d"]


async def test_who_has_waited_too_long_is_refused_and_leaves_the_queue() -> None:
    async with asyncio.TaskGroup() as tasks:
        pages = Pages(Admission(FEW), tasks)
        for name in "ab":
            await pages.send(name)
        await (await pages.send("late", patience=0.01))
        assert "late" not in pages.admitted
        await pages.send("c")
        await pages.end("a", "b", "c")
    assert pages.admitted == ["a", "b", "c"]


async def test_who_leaves_the_queue_takes_no_room() -> None:
    async with asyncio.TaskGroup() as tasks:
        pages = Pages(Admission(FEW), tasks)
        for name in "ab":
            await pages.send(name)
        gone = await pages.send("gone")
        gone.cancel()
        await pages.send("c")
        await pages.end("a", "b")
        assert pages.admitted == ["a", "b", "c"]
        await pages.end("c")
        async with pages.admission.admit(), pages.admission.admit():
            pass


async def test_the_caller_with_the_fewest_pages_has_the_next_turn() -> None:
    async with asyncio.TaskGroup() as tasks:
        limits = AdmissionLimits(most=3, most_per_caller=3, queued=4)
        pages = Pages(Admission(limits), tasks)
        for name in ("a1", "a2"):
            await pages.send(name, caller="alice")
        await pages.send("b1", caller="bob")
        await pages.send("a3", caller="alice")
        await pages.send("c1", caller="carol")
        await pages.end("b1")
        assert pages.admitted[-1] == "c1"
        await pages.end("a1", "a2", "a3", "c1")


async def test_rendered_pages_do_not_take_the_room_of_parsed_ones(machine: Machine) -> None:
    machine.wait = 0.2
    await machine.spend_moments(20)
    async with asyncio.TaskGroup() as tasks:
        pages = Pages(machine.admission, tasks)
        rendered = [f"r{number}" for number in range(2 * LIMITS.least)]
        for name in rendered:
            await pages.send(name, is_rendered=True)
        assert pages.admitted == rendered
        assert await machine.count_admitted() == LIMITS.least
        await pages.end(*rendered)


async def test_callers_of_one_key_share_one_run() -> None:
    runs = 0
    go = asyncio.Event()

    async def work() -> int:
        nonlocal runs
        runs += 1
        await go.wait()
        return runs

    async with SingleFlight[int]() as flights, asyncio.TaskGroup() as callers:
        waiting = [callers.create_task(flights.run("key", work)) for _ in range(10)]
        callers.create_task(_set_when_idle(go))
    assert [task.result() for task in waiting] == [1] * 10


async def test_a_failure_reaches_every_caller_and_is_not_kept() -> None:
    async def fail() -> int:
        raise ScrapeFailed("no")

    async def succeed() -> int:
        return 7

    async with SingleFlight[int]() as flights:
        for _ in range(2):
            with pytest.raises(ScrapeFailed):
                await flights.run("key", fail)
        assert await flights.run("key", succeed) == 7


async def test_work_goes_on_while_one_caller_is_left_and_ends_with_the_last() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with SingleFlight[None]() as flights, asyncio.TaskGroup() as callers:
        first = callers.create_task(flights.run("key", work))
        second = callers.create_task(flights.run("key", work))
        await started.wait()
        first.cancel()
        await asyncio.wait([first])
        assert not ended.is_set()
        second.cancel()
        await asyncio.wait([second])
        await ended.wait()


async def test_closing_ends_what_still_flies() -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as callers:
        async with SingleFlight[None]() as flights:
            waiting = callers.create_task(_swallow_cancel(flights, work))
            await started.wait()
        await asyncio.wait_for(waiting, 60)


async def _set_when_idle(event: asyncio.Event) -> None:
    # Callers started before this task have joined the flight once it gets its turn.
    await asyncio.sleep(0)
    event.set()


async def _swallow_cancel(flights: SingleFlight[None], work) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(asyncio.CancelledError):
        await flights.run("key", work)
