"""cinder's own crawl: the ledger durable, each page saved, exported when all are there.

`whole` takes all of each page but its chrome, as the others do; `main` its main content. With
`fleet`, three worker processes share the crawl on PostgreSQL.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.crawled_website import PAGES
from bench.crawlers.order import CONCURRENCY, Order, take_order
from bench.postgres import run_measured_postgres
from cinder.app.composition import App, open_app
from cinder.config.settings import Settings, read_settings
from cinder.crawl.scope import ScopeRules
from cinder.logs import configure_logs
from cinder.models.job import Job, JobKind
from cinder.models.request import OWNER
from cinder.server.process_control import freeze_startup_objects
from cinder.services.export.base import read_request
from cinder.services.export.exporter import write_file
from cinder.services.jobs.specs import CrawlSpec

WORKERS = 3
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Database:
    """Where the crawl is kept, None for the default, and the processes that keep it."""

    url: str | None
    processes: tuple[int, ...] = ()


async def main(extent: str, *, is_fleet: bool) -> None:
    configure_logs("error")
    with tempfile.TemporaryDirectory() as folder, _database(is_fleet=is_fleet) as database:
        settings = _settings(Path(folder), database.url)
        async with AsyncExitStack() as running:
            if is_fleet:
                for _ in range(WORKERS):
                    await running.enter_async_context(_run_worker(settings))
            app = await running.enter_async_context(open_app(settings, works_on_jobs=not is_fleet))
            if not is_fleet:
                # As workers do by themselves.
                await app.start_parsers()
                freeze_startup_objects()
            order = take_order(*database.processes)
            await _crawl(app, order, only_main_content=extent == "main")
            order.report_done()


async def _crawl(app: App, order: Order, *, only_main_content: bool) -> None:
    spec = CrawlSpec(
        url=order.start,
        scope=ScopeRules(max_depth=PAGES),
        max_pages=order.pages,
        only_main_content=only_main_content,
    )
    job = await _finished(app, await app.jobs.start_crawl(spec, OWNER))
    chunks = app.exporter.export(job, read_request("jsonl"))
    await write_file(order.output, chunks)


async def _finished(app: App, job: Job) -> Job:
    while not job.status.is_over:
        await asyncio.sleep(POLL_SECONDS)
        job = await app.jobs.find(job.id, JobKind.CRAWL, OWNER)
    return job


@contextmanager
def _database(*, is_fleet: bool) -> Iterator[Database]:
    if not is_fleet:
        yield Database(None)
        return
    with run_measured_postgres() as server:
        yield Database(server.url, (server.pid,))


@asynccontextmanager
async def _run_worker(settings: Settings) -> AsyncIterator[None]:
    environment = {
        **os.environ,
        "CINDER_DATA_DIR": str(settings.data_dir),
        "CINDER_STORE__URL": settings.store_url,
        "CINDER_EGRESS__ALLOW": "127.0.0.0/8",
        "CINDER_EGRESS__PORTS": "1-65535",
        "CINDER_JOBS__CONCURRENCY": str(CONCURRENCY),
        "CINDER_JOBS__HOST_CONCURRENCY": str(CONCURRENCY),
        "CINDER_LOG__LEVEL": "error",
    }
    command = (sys.executable, "-m", "cinder", "worker")
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        await process.stdout.readline()  # it says that it is ready
        yield
    finally:
        process.terminate()
        await process.wait()


def _settings(folder: Path, url: str | None) -> Settings:
    return read_settings(
        data_dir=folder,
        egress={"allow": ("127.0.0.0/8",), "ports": ("1-65535",)},
        jobs={"concurrency": CONCURRENCY, "host_concurrency": CONCURRENCY},
        **({"store": {"url": url}} if url else {}),
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], is_fleet="fleet" in sys.argv[2:]))
