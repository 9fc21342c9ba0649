"""Stages: a website, a database and the processes that crawl the one into the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.crawled_site import CrawledSite, serve_crawled_site
from tests.crawled_site.server import Manners
from tests.crawls.processes import HOST_CONCURRENCY, Crew, run_crew, worker_settings
from tests.crawls.verdicts import judge_crawl, judge_file
from tests.crawls.watching import Part, Watch, open_watched
from tests.store.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Stage:
    """One way to run cinder."""

    name: str
    store_url: str
    folder: Path
    workers: int
    file: Path | None = None
    """The database, where it is a file."""


@dataclass(frozen=True, slots=True)
class Play:
    """A crawl under way on a stage."""

    site: CrawledSite
    crew: Crew
    watch: Watch
    part: Part
    file: Path | None

    async def judge(self) -> list[str]:
        """Return what is wrong, once the crawl is over."""
        at_once = HOST_CONCURRENCY + self.crew.late_requests
        if self.crew.has_stood_still():
            # Requests of leases that ran out end a moment after the ones that replace them begin.
            at_once += HOST_CONCURRENCY
        problems = await judge_crawl(self.watch, self.site, self.part, at_once)
        if self.file is not None:
            problems += judge_file(self.file)
        if not self.crew.all_alive:
            problems.append("a process ended by itself")
        return problems + self.crew.left_behind()


def embedded_stage(folder: Path) -> Stage:
    """Return one process with its database in a file."""
    file = folder / "cinder.db"
    return Stage("embedded", f"sqlite:///{file}", folder, 1, file)


def fleet_stage(server: PostgresServer, folder: Path, *, workers: int) -> Stage:
    """Return processes that share a PostgreSQL database."""
    return Stage("fleet", server.create_database(), folder, workers)


@asynccontextmanager
async def perform(
    stage: Stage,
    part: Part,
    manners: Manners | None = None,
    *,
    max_pages: int | None = None,
    **jobs: Any,  # Any: settings of jobs
) -> AsyncIterator[Play]:
    """Crawl a part of the website on a stage; at the exit every process is ended."""
    with serve_crawled_site(manners) as site:
        settings = worker_settings(site, stage.folder, stage.store_url, **jobs)
        spec = part.spec(site)
        if max_pages is not None:
            spec = replace(spec, max_pages=max_pages)
        async with (
            open_watched(stage.store_url) as store,
            run_crew(settings, stage.folder / "workers.log", stage.workers) as crew,
        ):
            watch = await Watch.start(store, spec)
            yield Play(site, crew, watch, part, stage.file)
