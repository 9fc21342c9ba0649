"""Ordeals of a crawl: processes that are killed or frozen, and a database that goes away."""

import asyncio
import random
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cinder.models.job import JobStatus, LedgerPage, PageState, PageStatus
from tests.crawls.processes import LEASE_SECONDS, Crew
from tests.crawls.verdicts import lost_pages
from tests.crawls.watching import Watch, until, until_time
from tests.store.postgres import PostgresServer

_PAGES_SECONDS = 120
# Far longer than allowed, to tell how long it took where it took too long.
_RESUME_SECONDS = 20 * LEASE_SECONDS
MAX_LEASE_PERIODS = 3
# What a worker says when its claim is gone, or the transaction in which it was frozen.
_REFUSALS = (*("lease was lost", "work on a job failed", "cannot be run now", "paused for longer"),)


@dataclass(slots=True)
class Ordeal:
    """What happened to a crawl, and how it bore that."""

    kills: int = 0
    resumes_seconds: list[float] = field(default_factory=list)
    """From each kill to the next page that got its fate."""
    takeovers_seconds: list[float] = field(default_factory=list)
    """From each kill until none of the pages that were claimed then was the dead process' any more.

    They are fetched at the end, alone: each may be what ended the process.
    """
    problems: list[str] = field(default_factory=list)

    @property
    def slowest_resume_periods(self) -> float:
        """The longest time that nothing happened after a kill, in lease periods."""
        return max(self.resumes_seconds, default=0) / LEASE_SECONDS

    @property
    def slowest_takeover_periods(self) -> float:
        """The longest time until a killed process' pages were taken back."""
        return max(self.takeovers_seconds, default=0) / LEASE_SECONDS


async def kill_at_random(watch: Watch, crew: Crew, *, kills: int, seed: int, among: int) -> Ordeal:
    """Kill a process at so many moments of a crawl's first pages, and start another each time."""
    chance = random.Random(seed)
    ordeal = Ordeal()
    for moment in sorted(chance.sample(range(1, among), kills)):
        await watch.until_fetched(moment, _PAGES_SECONDS)
        if (await watch.status()).is_over:
            ordeal.problems.append(f"the crawl was over before kill {ordeal.kills + 1}")
            break
        await _kill(watch, crew, chance, ordeal)
    if ordeal.slowest_resume_periods > MAX_LEASE_PERIODS:
        periods = ordeal.slowest_resume_periods
        ordeal.problems.append(f"nothing happened for {periods:.1f} lease periods after a kill")
    return ordeal


async def kill_with_the_same_pages(watch: Watch, crew: Crew, file: Path, *, kills: int) -> None:
    """Kill the only process again and again, each time that the pages it first had are claimed.

    Where they are only taken back, that is the moment: others are claimed then.
    """

    async def are_claimed() -> bool:
        return len(_fences(file)) > 1

    await until(are_claimed, _PAGES_SECONDS, "pages that are claimed together")
    held = _fences(file)
    for _ in range(kills):
        await until(crew.is_at_work, _RESUME_SECONDS, "a process to kill")
        await crew.kill(crew.processes[0])

        async def is_over_with(before: dict[int, int] = held) -> bool:
            return all(_fences(file).get(page) != fence for page, fence in before.items())

        await until(is_over_with, _RESUME_SECONDS, "the leases of a dead process to run out")
        held |= {page: fence for page, fence in _fences(file).items() if page in held}


def _fences(file: Path) -> dict[int, int]:
    """Return the fences of the pages that are claimed."""
    with closing(sqlite3.connect(file, timeout=_PAGES_SECONDS)) as connection:
        rows = connection.execute("SELECT id, fence FROM frontier WHERE state = 'leased'")
        return dict(rows.fetchall())


async def kill_at(watch: Watch, crew: Crew, seconds: float) -> None:
    """Kill the only process so many seconds after it began with the crawl, and start another."""

    async def has_begun() -> bool:
        return await watch.status() is not JobStatus.QUEUED

    await until(has_begun, _PAGES_SECONDS, "the crawl to begin")
    await until_time(time.monotonic() + seconds)
    await crew.kill(crew.processes[0])


async def freeze_one(watch: Watch, crew: Crew) -> int:
    """Freeze the only process, let another have its pages, and wake it; return its refusals."""
    (frozen,) = crew.processes
    await watch.until_fetched(5, _PAGES_SECONDS)
    claimed: list[LedgerPage] = []
    while not claimed:
        frozen.send_signal(signal.SIGSTOP)
        claimed = await _claimed(watch)
        if not claimed:
            frozen.send_signal(signal.SIGCONT)
    await crew.hire()
    await _until_taken_back(watch, claimed)
    crew.late_requests = len(claimed)
    frozen.send_signal(signal.SIGCONT)

    async def has_noticed() -> bool:
        return _count_refusals(crew) > 0

    await until(has_noticed, _RESUME_SECONDS, "the frozen process to find its leases lost")
    return _count_refusals(crew)


def _count_refusals(crew: Crew) -> int:
    said = crew.log.read_text()
    return sum(said.count(words) for words in _REFUSALS)


async def cut_off(watch: Watch, server: PostgresServer, seconds: float) -> list[str]:
    """Take the database away for some seconds; return what was lost of what was there before."""
    await watch.until_fetched(5, _PAGES_SECONDS)
    before = await watch.pages(PageStatus.FETCHED)
    await asyncio.to_thread(server.stop)
    await asyncio.sleep(seconds)  # nothing to wait for: this is how long it is away
    await asyncio.to_thread(server.start)
    await watch.until_fetched(len(before) + 10, _PAGES_SECONDS)
    return lost_pages(before, await watch.pages(PageStatus.FETCHED))


async def _kill(watch: Watch, crew: Crew, chance: random.Random, ordeal: Ordeal) -> None:
    await until(crew.is_at_work, _RESUME_SECONDS, "a process to kill")
    before = await watch.pages(PageStatus.FETCHED)
    await crew.kill(chance.choice(crew.processes))
    killed_at, started = datetime.now(UTC), time.monotonic()
    claimed = await _claimed(watch)
    ordeal.kills += 1
    async with asyncio.TaskGroup() as group:
        resumed = group.create_task(watch.first_after(killed_at, _RESUME_SECONDS))
        await _until_taken_back(watch, claimed)
        ordeal.takeovers_seconds.append(time.monotonic() - started)
    ordeal.resumes_seconds.append(resumed.result())
    ordeal.problems += lost_pages(before, await watch.pages(PageStatus.FETCHED))


async def _claimed(watch: Watch) -> list[LedgerPage]:
    return [page for page in await watch.pages() if page.state is PageState.LEASED]


async def _until_taken_back(watch: Watch, claimed: list[LedgerPage]) -> None:
    wanted = {page.id for page in claimed}

    async def are_free() -> bool:
        wanted.intersection_update(page.id for page in await _claimed(watch))
        return not wanted

    await until(are_free, _RESUME_SECONDS, "the pages of a process that was killed")
