"""Faults that take their time: ten times the capacity for half a minute, a database long away."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx2

from tests.api.running import run_server
from tests.faults.asking import scrape, until
from tests.faults.load import Overload, overload
from tests.site import Site, serve_site
from tests.store.postgres import PostgresServer, run_postgres

_OVERLOAD_SECONDS = 30
_AWAY_SECONDS = 15
_BETWEEN_SECONDS = 0.25
_MAX_GROWTH_BYTES = 256 * 1024 * 1024


def soak_faults(say: Callable[[str], None]) -> list[str]:
    """Have both happen to a server; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        borne = asyncio.run(overload(Path(folder) / "overload", seconds=_OVERLOAD_SECONDS))
        say(f"Ten times the capacity for {_OVERLOAD_SECONDS} s: {borne.figures}")
        with run_postgres() as postgres, serve_site() as site:
            answers, problems = asyncio.run(_take_database_away(Path(folder), postgres, site))
        told = ", ".join(f"{count} times {what}" for what, count in sorted(answers.items()))
        say(f"Database away for {_AWAY_SECONDS} s: {told}")
    return [*_judge(borne), *problems]


def _judge(borne: Overload) -> list[str]:
    marks = {
        "accepted requests took more than twice the idle time": borne.accepted_ratio > 2,
        "requests were refused after more than 100 ms": borne.refused_seconds > 0.1,
        "/healthz took more than 200 ms": borne.health_seconds > 0.2,
        "memory grew without bounds": borne.growth_bytes > _MAX_GROWTH_BYTES,
        "an answer was neither 200 nor 503": borne.measured.statuses != {200, 503},
    }
    return [f"Overload: {problem}" for problem, is_so in marks.items() if is_so]


async def _take_database_away(
    folder: Path, postgres: PostgresServer, site: Site
) -> tuple[Counter[str], list[str]]:
    variables = {
        "CINDER_EGRESS__ALLOW": site.address,
        "CINDER_STORE__URL": postgres.url("postgres"),
    }
    data_dir, log = folder / "away", str(folder / "away.log")
    async with run_server(data_dir, log=log, **variables) as server, server.client() as client:
        await scrape(client, site.url("/article"))
        await asyncio.to_thread(postgres.stop)
        answers = await _ask_for(client, site, _AWAY_SECONDS)
        await asyncio.to_thread(postgres.start)

        async def is_back() -> bool:
            return (await client.get("/readyz")).status_code == 200

        await until(is_back)
        after = await scrape(client, site.url("/numbered?n=1"))
    problems = [f"Database away: an answer was {what}" for what in answers if "500" in what]
    if after.status_code != 200:
        problems.append(f"Database back: a scrape answered {after.status_code}")
    return answers, problems


async def _ask_for(client: httpx2.AsyncClient, site: Site, seconds: float) -> Counter[str]:
    """Ask for pages and health for so long; return how often each answer came."""
    answers: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    until_moment = loop.time() + seconds
    while loop.time() < until_moment:
        for name, asking in (
            ("scrape", scrape(client, site.url("/article"))),
            ("fresh scrape", scrape(client, site.url("/article"), forceRescrape=True)),
            ("healthz", client.get("/healthz")),
        ):
            answers[f"{name} {(await asking).status_code}"] += 1
        await asyncio.sleep(_BETWEEN_SECONDS)
    return answers
