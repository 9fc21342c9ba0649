"""Crawls of 1,000 pages while processes are killed or frozen and the database goes away."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tests.crawled_site.server import Manners
from tests.crawls.ordeals import Ordeal, cut_off, freeze_one, kill_at, kill_at_random
from tests.crawls.processes import LEASE_SECONDS
from tests.crawls.stages import Play, Stage, embedded_stage, fleet_stage, perform
from tests.crawls.watching import SECTION, WHOLE
from tests.store.postgres import run_postgres

WORKERS = 3
AWAY_SECONDS = 10
# Not in the last pages, lest a crawl ends before the last kill.
AMONG = 900
# However fast the machine, a crawl takes more than a minute.
UNHURRIED = Manners(latency_seconds=0.2)
_END_SECONDS = 600
# Kills as crawls begin: within how long, with leases of the usual length, and how many at a time.
_EARLY_SECONDS = 2.0
_USUAL_LEASE_SECONDS = 30.0
_EARLY_AT_ONCE = 4
_SEED = 20

Say: TypeAlias = Callable[[str], None]
# What befalls a crawl; it returns what went wrong with that.
Event: TypeAlias = Callable[[Play], Awaitable[list[str]]]


def soak_crawls(kills: int, say: Say) -> list[str]:
    """Put crawls through their ordeals; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder, run_postgres() as server:

        def fleet(name: str) -> Stage:
            return fleet_stage(server, _new(Path(folder) / name), workers=WORKERS)

        async def is_killed(play: Play) -> list[str]:
            ordeal = await kill_at_random(
                play.watch, play.crew, kills=kills, seed=_SEED, among=AMONG
            )
            say(_describe(ordeal))
            return ordeal.problems

        async def is_frozen(play: Play) -> list[str]:
            refused = await freeze_one(play.watch, play.crew)
            say(f"The frozen process was refused {refused} times")
            return []

        async def is_cut_off(play: Play) -> list[str]:
            return await cut_off(play.watch, server, AWAY_SECONDS)

        events: list[tuple[str, Stage, Event]] = [
            (f"One process, {kills} kills", embedded_stage(_new(Path(folder) / "one")), is_killed),
            (f"{WORKERS} workers, {kills} kills", fleet("killed"), is_killed),
            ("A worker frozen", replace(fleet("frozen"), workers=1), is_frozen),
            (f"PostgreSQL away for {AWAY_SECONDS} s", fleet("cut off"), is_cut_off),
        ]
        problems = [problem for each in events for problem in asyncio.run(_crawl(*each, say))]
        return problems + asyncio.run(_kill_early(kills, _new(Path(folder) / "early"), say))


async def _kill_early(kills: int, folder: Path, say: Say) -> list[str]:
    """Kill crawls at so many moments of their first seconds, each once."""
    started = time.monotonic()
    places = asyncio.Semaphore(_EARLY_AT_ONCE)
    problems: list[str] = []

    async def crawl(number: int) -> None:
        moment = _EARLY_SECONDS * (number + 1) / kills
        async with places:
            stage = embedded_stage(_new(folder / str(number)))
            async with perform(stage, SECTION, lease_seconds=_USUAL_LEASE_SECONDS) as play:
                await kill_at(play.watch, play.crew, moment)
                await play.watch.until_over(_END_SECONDS)
                found = await play.judge()
        problems.extend(f"Killed after {moment:.1f} s: {problem}" for problem in found)

    async with asyncio.TaskGroup() as group:
        for number in range(kills):
            group.create_task(crawl(number))
    took = time.monotonic() - started
    say(f"{kills} crawls killed within {_EARLY_SECONDS:g} s, leases of 30 s: {took:.0f} s")
    return problems


async def _crawl(name: str, stage: Stage, event: Event, say: Say) -> list[str]:
    started = time.monotonic()
    async with perform(stage, WHOLE, UNHURRIED) as play:
        problems = await event(play)
        await play.watch.until_over(_END_SECONDS)
        problems += await play.judge()
        most = play.site.visits().max_at_once()
    say(f"{name}: {time.monotonic() - started:.0f} s, at most {most} requests at once")
    return [f"{name}: {problem}" for problem in problems]


def _describe(ordeal: Ordeal) -> str:
    return (
        f"{ordeal.kills} kills, lease periods of {LEASE_SECONDS:g} s; the slowest to go on took "
        f"{ordeal.slowest_resume_periods:.1f} of them, the slowest to do a dead process' pages "
        f"{ordeal.slowest_takeover_periods:.1f}"
    )


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder
