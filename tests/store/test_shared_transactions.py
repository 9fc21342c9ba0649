"""Shared transactions: what waits is written together, and nobody pays for another's failure."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cinder.store.procedure import Procedure, Run
from cinder.store.shared_transactions import MAX_SHARING, SharedTransactions


class Ledger:
    """Runs writes as a database does, and keeps what was committed in which transaction."""

    def __init__(self) -> None:
        self.transactions: list[list[Any]] = []
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()

    # Any: as the protocol has it.
    async def run_together(self, starts: Sequence[Callable[[], Procedure[Any]]]) -> list[Any]:
        self.begun.set()
        await self.go_on.wait()
        results = [Run(start()).result for start in starts]
        self.transactions.append(results)
        return results


def number(value: int) -> Callable[[], Procedure[int]]:
    def start() -> Procedure[int]:
        if value < 0:
            raise ValueError(value)
        yield from ()
        return value

    return start


async def test_what_waits_is_written_together() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(shared.write(number(n), "job")) for n in range(10)]
        await ledger.begun.wait()
        ledger.go_on.set()
    assert [task.result() for task in tasks] == list(range(10))
    assert [len(each) for each in ledger.transactions] == [1, MAX_SHARING, 1]


async def test_jobs_do_not_share() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    async with asyncio.TaskGroup() as group:
        for n in range(4):
            group.create_task(shared.write(number(n), f"job {n % 2}"))
        await ledger.begun.wait()
        ledger.go_on.set()
    assert ledger.transactions == [[0], [1, 3], [2]]


async def test_one_that_fails_spoils_no_other() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    writes = [asyncio.create_task(shared.write(number(n), "job")) for n in (1, 2, -1, 3)]
    await ledger.begun.wait()
    ledger.go_on.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert results[:2] == [1, 2]
    assert isinstance(results[2], ValueError)
    assert results[3] == 3
    assert ledger.transactions == [[1], [2], [3]]


async def test_one_that_goes_away_leaves_the_others_to_the_next() -> None:
    ledger = Ledger()
    shared = SharedTransactions(ledger.run_together)
    first, second, third = (asyncio.create_task(shared.write(number(n), "job")) for n in range(3))
    await ledger.begun.wait()
    first.cancel()
    third.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    ledger.go_on.set()
    assert await second == 1
    assert ledger.transactions == [[1]]
