"""How many slots the jobs of one caller have, and what becomes of those beyond."""

import asyncio
from dataclasses import replace

import pytest

from cinder.jobs import Engine
from cinder.jobs.attendants import Attendants
from cinder.jobs.slot_shares import share_of_slots
from cinder.jobs.sweeper import Sweeper
from cinder.model.request import OWNER
from cinder.store import Store
from tests.jobs.looks import Looks, beside
from tests.store.ledger.samples import a_job


@pytest.mark.parametrize(
    ("slots", "owners", "expected"),
    [
        (4, [], 4),
        (4, [OWNER], 4),
        (4, ["alice"], 3),
        (4, ["alice", OWNER], 2),
        (4, ["alice", "bob", "carol"], 1),
        (4, list("abcdefgh"), 1),
        (1, ["alice", "bob"], 1),
        (2, ["alice"], 1),
    ],
)
def test_callers_have_equal_parts_and_none_has_all(
    slots: int, owners: list[str], expected: int
) -> None:
    assert share_of_slots(slots, owners) == expected


async def test_a_callers_jobs_beyond_his_share_wait_while_anothers_begins(
    store: Store, engine: Engine
) -> None:
    may_end = asyncio.Event()

    async def work_until_told(_job_id: str) -> float | None:
        await may_end.wait()
        return None

    for number in range(6):
        await store.ledger.add_job(replace(a_job(f"alice-{number}"), owner="alice"))
    looks = Looks(work_until_told)
    sweeper = Sweeper(store.ledger, engine, seconds=0.1)
    attendants = Attendants(store.ledger, engine, looks, sweeper=sweeper)
    async with beside(attendants.run(slots=3)):
        await looks.count(2)
        await store.ledger.add_job(replace(a_job("bob-0"), owner="bob"))
        await looks.count(3)
        assert looks.seen[2:] == ["bob-0"]
        may_end.set()
        await looks.until(lambda looks: len({*looks.seen}) == 7)
