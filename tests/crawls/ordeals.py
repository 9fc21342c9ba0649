"""Ordeals of a crawl: processes that are killed or frozen, and a database that goes away."""

import asyncio
import random
import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cinder.model.job import Fate, LedgerPage, PageState
from tests.crawls.processes import LEASE_SECONDS, Crew
from tests.crawls.verdicts import lost_pages
from tests.crawls.watching import Watch, until
from tests.store.postgres import PostgresServer

_PAGES_SECONDS = 120
# Far longer than allowed, to tell how long it took where it took too long.
_RESUME_SECONDS = 20 * LEASE_SECONDS
MAX_LEASE_PERIODS = 3
# What a worker says when its claim is gone, or the transaction in which it was frozen.
_REFUSALS = (
    *("lease was lost", "work on a job failed", "cannot be looked after", "stood still for longer"),
)


@dataclass(slots=True)
class Ordeal:
    """What happened to a crawl, and how it bore that."""

    kills: int = 0
    resumes_seconds: list[float] = field(default_factory=list)
    """From each kill to the next page that got its fate."""
    takeovers_seconds: list[float] = field(default_factory=list)
    """From each kill until all pages that were claimed then had their fates."""
    problems: list[str] = field(default_factory=list)

    @property
    def slowest_resume_periods(self) -> float:
        """The longest time that nothing happened after a kill, in lease periods."""
        return max(self.resumes_seconds, default=0) / LEASE_SECONDS

    @property
    def slowest_takeover_periods(self) -> float:
        """The longest time until a killed process' pages were done by others."""
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


async def freeze_one(watch: Watch, crew: Crew) -> int:
    """Freeze the only process, let another do its pages, and wake it; return its refusals."""
    (frozen,) = crew.processes
    await watch.until_fetched(5, _PAGES_SECONDS)
    claimed: list[LedgerPage] = []
    while not claimed:
        frozen.send_signal(signal.SIGSTOP)
        claimed = await _claimed(watch)
        if not claimed:
            frozen.send_signal(signal.SIGCONT)
    await crew.hire()
    await _until_done(watch, claimed)
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
    before = await watch.pages(Fate.FETCHED)
    await asyncio.to_thread(server.stop)
    await asyncio.sleep(seconds)  # nothing to wait for: this is how long it is away
    await asyncio.to_thread(server.start)
    await watch.until_fetched(len(before) + 10, _PAGES_SECONDS)
    return lost_pages(before, await watch.pages(Fate.FETCHED))


async def _kill(watch: Watch, crew: Crew, chance: random.Random, ordeal: Ordeal) -> None:
    await until(crew.is_at_work, _RESUME_SECONDS, "a process to kill")
    before = await watch.pages(Fate.FETCHED)
    await crew.kill(chance.choice(crew.processes))
    killed_at, started = datetime.now(UTC), time.monotonic()
    claimed = await _claimed(watch)
    ordeal.kills += 1
    async with asyncio.TaskGroup() as group:
        resumed = group.create_task(watch.first_after(killed_at, _RESUME_SECONDS))
        await _until_done(watch, claimed)
        ordeal.takeovers_seconds.append(time.monotonic() - started)
    ordeal.resumes_seconds.append(resumed.result())
    ordeal.problems += lost_pages(before, await watch.pages(Fate.FETCHED))


async def _claimed(watch: Watch) -> list[LedgerPage]:
    return [page for page in await watch.pages() if page.state is PageState.LEASED]


async def _until_done(watch: Watch, claimed: list[LedgerPage]) -> None:
    wanted = {page.id for page in claimed}

    async def are_done() -> bool:
        pages = await watch.pages()
        return not any(page.id in wanted and page.state is not PageState.DONE for page in pages)

    await until(are_done, _RESUME_SECONDS, "the pages of a process that was killed")
