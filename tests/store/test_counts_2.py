"""Counts that servers share, by the contract that both databases keep."""

import asyncio
from datetime import timedelta

from cinder.store import Store
from tests.store.samples import Clock


async def test_a_count_grows_and_begins_anew_when_its_time_is_over(
    store: Store, clock: Clock
) -> None:
    counted = [await store.counts.add("a", 1, 60) for _ in range(3)]
    amount, ends_at = await store.counts.read("a")
    clock.move_on(timedelta(seconds=59))
    last = await store.counts.add("a", 2, 60)
    clock.move_on(timedelta(seconds=1))
    over = await store.counts.read("a")
    anew = await store.counts.add("a", 1, 60)

    assert counted == [1, 2, 3]
    assert amount == 3
    assert abs(ends_at - (clock().timestamp())) < 0.01
    assert last == 5
    assert over[0] == 0
    assert anew == 1


async def test_counts_by_many_at_once_are_all_counted(store: Store) -> None:
    counted = await asyncio.gather(*(store.counts.add("a", 1, 60) for _ in range(50)))

    assert sorted(counted) == list(range(1, 51))


async def test_a_dropped_count_begins_anew_and_old_ones_go(store: Store, clock: Clock) -> None:
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
