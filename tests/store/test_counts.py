"""Shared counters, in a scratch file and in both databases."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from cinder.store.counts import ScratchCounts
from cinder.store.documents import Store
from tests.store.samples import Clock

_ADD_MANY = """
import asyncio, sys
from pathlib import Path
from cinder.store.counts import ScratchCounts

async def main() -> None:
    counts = ScratchCounts(Path(sys.argv[1]))
    for _ in range(500):
        await counts.add("a", 1, 3600)
    counts.close()

asyncio.run(main())
"""


class MonotonicClock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "counts.db"


async def test_a_count_is_shared_and_restarts_when_its_time_is_over(path: Path) -> None:
    clock = MonotonicClock()
    one, other = ScratchCounts(path, clock), ScratchCounts(path, clock)
    counted = [await each.add("a", 1, 60) for each in (one, other, one)]
    read = await other.read("a")
    clock.now += 60
    over = await one.read("a")
    restarted = await other.add("a", 2, 60)
    one.close()
    other.close()

    assert counted == [1, 2, 3]
    assert read == (3, 1_060.0)
    assert over == (0, 1_060.0)
    assert restarted == 2


async def test_dropped_and_old_counts_go(path: Path) -> None:
    clock = MonotonicClock()
    counts = ScratchCounts(path, clock)
    for name, seconds in (("a", 60), ("b", 60), ("c", 600)):
        await counts.add(name, 5, seconds)
    await counts.drop("a")
    clock.now += 100
    await counts.drop_old()
    left = [(await counts.read(name))[0] for name in "abc"]
    counts.close()

    assert left == [0, 0, 5]


async def test_what_processes_count_at_once_is_all_counted(path: Path) -> None:
    counts = ScratchCounts(path)
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", _ADD_MANY, str(path))
        for _ in range(3)
    ]
    codes = [await process.wait() for process in processes]
    amount, _ = await counts.read("a")
    counts.close()

    assert codes == [0, 0, 0]
    assert amount == 1_500


async def test_a_count_grows_and_restarts_when_its_time_is_over(store: Store, clock: Clock) -> None:
    counted = [await store.counts.add("a", 1, 60) for _ in range(3)]
    amount, ends_at = await store.counts.read("a")
    clock.move_on(timedelta(seconds=59))
    last = await store.counts.add("a", 2, 60)
    clock.move_on(timedelta(seconds=1))
    over = await store.counts.read("a")
    restarted = await store.counts.add("a", 1, 60)

    assert counted == [1, 2, 3]
    assert amount == 3
    assert abs(ends_at - (clock().timestamp())) < 0.01
    assert last == 5
    assert over[0] == 0
    assert restarted == 1


async def test_counts_by_many_at_once_are_all_counted(store: Store) -> None:
    counted = await asyncio.gather(*(store.counts.add("a", 1, 60) for _ in range(50)))

    assert sorted(counted) == list(range(1, 51))


async def test_a_dropped_count_restarts_and_old_ones_go(store: Store, clock: Clock) -> None:
    for name, seconds in (("a", 60), ("b", 60), ("c", 600)):
        await store.counts.add(name, 5, seconds)
    await store.counts.drop("a")
    clock.move_on(timedelta(seconds=100))
    await store.counts.drop_old()

    assert [(await store.counts.read(name))[0] for name in "abc"] == [0, 0, 5]


async def test_a_count_from_before_the_clock_was_set_back_is_over(
    store: Store, clock: Clock
) -> None:
    await store.counts.add("a", 5, 60)
    clock.move_on(timedelta(hours=-1))

    assert (await store.counts.read("a", seconds=60))[0] == 0
    assert await store.counts.add("a", 1, 60) == 1
    assert (await store.counts.read("a", seconds=60))[0] == 1
