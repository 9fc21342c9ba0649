"""Thousands of pages crawled while fifty searches a second run."""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from cinder.crawl.scope import ScopeRules
from cinder.errors import CinderError, Overloaded
from cinder.models.job import Job, JobKind, JobStatus
from cinder.models.request import OWNER
from cinder.models.search import LOCAL, SearchRequest
from cinder.services.jobs.specs import CrawlSpec
from tests.store.index.searching import WORDS
from tests.store.postgres import run_postgres

SEARCHES_PER_SECOND = 50
LOOK_SECONDS = 1
SAMPLE = 200


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    problems: list[str] = field(default_factory=list)
    searches: int = 0
    refused: int = 0
    """Of the searches, those that were told to come back later."""


def soak_searches(pages: int, say: Callable[[str], None]) -> list[str]:
    """Crawl in either database while others search; return what went wrong."""
    problems = []
    with run_postgres() as server:
        for name, url in {"SQLite": None, "PostgreSQL": server.create_database()}.items():
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as folder, _serve_pages(pages) as address:
                outcome = asyncio.run(_crawl(Path(folder), url, address, pages))
            say(
                f"{name}: {pages} pages crawled beside {outcome.searches} searches, of which "
                f"{outcome.refused} were refused, {time.monotonic() - started:.0f} s"
            )
            problems += [f"{name}: {problem}" for problem in outcome.problems[:20]]
    return problems


@contextmanager
def _serve_pages(count: int) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.soak.many_pages", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


async def _crawl(folder: Path, url: str | None, address: str, pages: int) -> Outcome:
    settings = read_settings(
        data_dir=folder,
        egress={"allow": (address,)},
        jobs={"host_concurrency": 8},
        **({"store": {"url": url}} if url else {}),
    )
    outcome = Outcome()
    async with open_app(settings, works_on_jobs=True) as app:
        scope = ScopeRules(max_depth=pages)
        spec = CrawlSpec(url=f"http://{address}/", scope=scope, max_pages=pages)
        job = await app.jobs.start_crawl(spec, OWNER)
        async with asyncio.TaskGroup() as tasks:
            searching = tasks.create_task(_search_on(app, outcome))
            job = await _finished(app, job)
            searching.cancel()
        outcome.problems += [*_judge(job, pages), *await _missing(app, pages)]
    return outcome


async def _finished(app: App, job: Job) -> Job:
    while not job.status.is_over:
        await asyncio.sleep(LOOK_SECONDS)
        job = await app.jobs.find(job.id, JobKind.CRAWL, OWNER)
    return job


async def _search_on(app: App, outcome: Outcome) -> None:
    """Begin a search every so often, whether or not those before have ended."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    async with asyncio.TaskGroup() as searches:
        while True:
            words = random.Random(outcome.searches).sample(WORDS, 3)
            outcome.searches += 1
            searches.create_task(_search(app, " ".join(words), outcome))
            due += 1 / SEARCHES_PER_SECOND
            await asyncio.sleep(max(0, due - loop.time()))


async def _search(app: App, query: str, outcome: Outcome) -> None:
    try:
        await app.search.search(SearchRequest(query=query, caller=OWNER, providers=(LOCAL,)))
    except Overloaded:
        outcome.refused += 1
    except CinderError as error:
        outcome.problems.append(f"search: {error.code}: {error.message}")


def _judge(job: Job, pages: int) -> Iterator[str]:
    if job.status is not JobStatus.COMPLETED:
        yield f"the crawl is {job.status}: {job.error}"
    if job.fetched != pages:
        yield f"{job.fetched} pages were fetched, not {pages}"


async def _missing(app: App, pages: int) -> list[str]:
    """Return which pages are not to be found, of all by their number and of some by their words."""
    count = await app.index.count()
    problems = [] if count == pages else [f"{count} pages are in the index, not {pages}"]
    for number in random.Random(1).sample(range(pages), min(pages, SAMPLE)):
        request = SearchRequest(query=f"page{number}", caller=OWNER, providers=(LOCAL,))
        found = (await app.search.search(request)).results
        if [result.title for result in found] != [f"Page {number}"]:
            problems.append(f"page {number} is not found")
    return problems
