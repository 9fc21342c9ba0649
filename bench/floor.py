"""Floors of speed: figures that CI prints, and that must not fall to half of what was recorded.

Each figure is the CPU that cinder takes for something, as a multiple of what a yardstick takes in
the same run, so that neither a slow nor a busy machine moves it much. `recorded.toml` holds what
was measured last; `python -m bench.floor --record` writes it.
"""

import argparse
import asyncio
import itertools
import statistics
import sys
import tomllib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench.crawl import DEFAULT, FLOOR, measure_crawl
from bench.crawled_website import run_crawled_website
from bench.render import compare_with_floor
from bench.served import HEADINGS, open_contest

RECORD = Path(__file__).with_name("recorded.toml")
ROUNDS = 5
# Throughput fell to half of the recorded one where the cost is twice it.
FAILING = 2.0

_CACHED_REQUESTS, _FRESH_PAGES = 320, 16
_CRAWLED_PAGES, _CRAWL_ROUNDS = 150, 3
_RENDERED_PAGES, _RENDER_ROUNDS = 8, 3
_HEAD = """\
# CPU of cinder as a multiple of its yardstick's in the same run: the median of several rounds.
# `make floor` fails where a figure has reached twice what stands here; `make floor RECORD=1`
# writes this file. Record a figure when it was improved, and say why where it got worse.
"""


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU milliseconds of one round: cinder's, and those of what it is measured by."""

    cinder_ms: float
    yardstick_ms: float

    @property
    def ratio(self) -> float:
        """How many times the yardstick cinder takes."""
        return self.cinder_ms / self.yardstick_ms


# Yields the name of a figure with the costs of a round, as often as there are rounds.
Source: TypeAlias = Callable[[], AsyncIterator[tuple[str, Costs]]]


async def served_scrapes() -> AsyncIterator[tuple[str, Costs]]:
    """Measure scrapes over HTTP by a bare server that sends as many bytes."""
    async with open_contest() as contest:
        for headings, _ in itertools.product(HEADINGS, range(ROUNDS)):
            cached = await contest.cached_ms(headings, _CACHED_REQUESTS)
            bare = await contest.bare_ms(_CACHED_REQUESTS)
            yield f"cached-{headings}-headings", Costs(cached, bare)
        for _ in range(ROUNDS):
            fresh = await contest.fresh_ms(_FRESH_PAGES)
            yield "fresh", Costs(fresh, await contest.bare_ms(_CACHED_REQUESTS))


async def crawls() -> AsyncIterator[tuple[str, Costs]]:
    """Measure crawls with the default options by a bare loop that fetches and converts."""
    async with run_crawled_website() as website:
        for _ in range(_CRAWL_ROUNDS):
            cinder = await measure_crawl(DEFAULT, website.address, _CRAWLED_PAGES)
            bare = await measure_crawl(FLOOR, website.address, _CRAWLED_PAGES)
            pages = _CRAWLED_PAGES
            yield "crawl", Costs(cinder * 1000 / pages, bare * 1000 / pages)


async def renders() -> AsyncIterator[tuple[str, Costs]]:
    """Measure rendered pages by a bare tab that loads and reads them."""
    async for cinder, bare in compare_with_floor(_RENDER_ROUNDS, _RENDERED_PAGES):
        yield "render", Costs(cinder * 1000, bare * 1000)


# A figure is added here, and recorded.
SOURCES: tuple[Source, ...] = (served_scrapes, crawls, renders)


@dataclass(frozen=True, slots=True)
class Figure:
    """What a figure has come to, and what it was when it was recorded."""

    name: str
    cinder_ms: float
    yardstick_ms: float
    ratio: float
    recorded: float | None

    @property
    def problem(self) -> str | None:
        """What is wrong with it; None where nothing is."""
        if self.recorded is None:
            return "it is not recorded: run make floor RECORD=1"
        if self.ratio >= FAILING * self.recorded:
            return f"throughput is at half of the recorded one or less ({self.recorded:.1f} times)"
        return None

    def __str__(self) -> str:
        recorded = "none" if self.recorded is None else f"{self.recorded:.1f}"
        return (
            f"floor {self.name}: {self.cinder_ms:.2f} ms CPU, yardstick {self.yardstick_ms:.3f}, "
            f"{self.ratio:.1f} times as much (recorded {recorded}, fails from twice that)"
            + (f"\n  FAILED: {self.problem}" if self.problem else "")
        )


def sum_up(rounds: Mapping[str, list[Costs]], recorded: Mapping[str, float]) -> list[Figure]:
    """Return each figure by the medians of its rounds.

    Raises:
        ValueError: something is recorded that is no longer measured.
    """
    if missing := recorded.keys() - rounds.keys():
        raise ValueError(f"Recorded and not measured: {', '.join(sorted(missing))}")
    return [
        Figure(
            name,
            statistics.median(costs.cinder_ms for costs in listed),
            statistics.median(costs.yardstick_ms for costs in listed),
            statistics.median(costs.ratio for costs in listed),
            recorded.get(name),
        )
        for name, listed in rounds.items()
    ]


def read_record() -> dict[str, float]:
    """Return the recorded ratios, by their figures."""
    return {
        name: float(entry["ratio"]) for name, entry in tomllib.loads(RECORD.read_text()).items()
    }


async def measure() -> dict[str, list[Costs]]:
    """Return the rounds of every figure."""
    rounds: defaultdict[str, list[Costs]] = defaultdict(list)
    for source in SOURCES:
        async for name, costs in source():
            rounds[name].append(costs)
    return dict(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.floor", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write what is measured")
    arguments = parser.parse_args()
    rounds = asyncio.run(measure())
    figures = sum_up(rounds, {} if arguments.record else read_record())
    if arguments.record:
        entries = (f"[{figure.name}]\nratio = {figure.ratio:.1f}\n" for figure in figures)
        RECORD.write_text("\n".join([_HEAD, *entries]))
        figures = sum_up(rounds, read_record())
    print(*figures, sep="\n")
    if any(figure.problem for figure in figures):
        sys.exit(1)


if __name__ == "__main__":
    main()
