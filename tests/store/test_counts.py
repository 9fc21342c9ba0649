"""Counts of the workers of one server, in a file that each opens by itself."""

import asyncio
import sys
from pathlib import Path

import pytest

from cinder.store.counts import ScratchCounts

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


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "counts.db"


async def test_a_count_is_everybodys_and_begins_anew_when_its_time_is_over(path: Path) -> None:
    clock = Clock()
    one, other = ScratchCounts(path, clock), ScratchCounts(path, clock)
    counted = [await each.add("a", 1, 60) for each in (one, other, one)]
    read = await other.read("a")
    clock.now += 60
    over = await one.read("a")
    anew = await other.add("a", 2, 60)
    one.close()
    other.close()

    assert counted == [1, 2, 3]
    assert read == (3, 1_060.0)
    assert over == (0, 1_060.0)
    assert anew == 2


async def test_dropped_and_old_counts_go(path: Path) -> None:
    clock = Clock()
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
