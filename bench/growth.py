"""What grows: reading jobs of 1,000 to 200,000 URLs, and each thousand pages of a large crawl."""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

import asyncpg
import httpx2
import psutil

from bench.cpu import tree_cpu_seconds
from bench.growing_website import run_growing_website
from bench.postgres import run_measured_postgres
from bench.runs import Goal, Table, report
from cinder.models.job import JobKind, NewJob, NewPage, PageStatus
from cinder.models.request import OWNER
from cinder.store import open_store
from cinder.store.documents import Store
from tests.api.running import RunningServer, run_server

SIZES = (1_000, 10_000, 50_000, 200_000)
CRAWLED = 20_000
THOUSAND = 1_000
REQUESTS = 300
PART = 50
BAR_MS = 5.0
BAR_GROWTH = 1.5
_BATCH = 5_000
_LOOK_SECONDS = 0.1
_CRAWL_SECONDS = 3_600
_HOST = "https://growth.test"
# Of ten URLs, as a crawl leaves them.
_FATES = (
    *[PageStatus.FETCHED] * 5,
    PageStatus.OUTSIDE,
    PageStatus.TRAP,
    PageStatus.FAILED,
    PageStatus.DISALLOWED,
    None,
)

_DESCRIBE = """
UPDATE webhook.frontier SET status_code = 200, verdict = 'ok', title = 'A page of the bench',
       content_length = 1234, uris = '["scrape://growth.test/a/cleaned_2026-01-02T03:04:05.600Z"]'
 WHERE fate = 'fetched'
"""


@dataclass(frozen=True, slots=True)
class _Database:
    """A database to measure on."""

    name: str
    url: str
    pids: tuple[int, ...]
    """Processes of its own whose work counts, too."""
    file: Path | None = None

    async def run(self, sql: str) -> None:
        if self.file is not None:
            with closing(sqlite3.connect(self.file)) as file, file:
                file.execute(sql.replace("webhook.", ""))
            return
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(sql, timeout=600)
        finally:
            await connection.close()

    async def bytes_on_disk(self) -> int:
        if self.file is not None:
            return sum(path.stat().st_size for path in self.file.parent.glob(f"{self.file.name}*"))
        connection = await asyncpg.connect(self.url)
        try:
            size: int = await connection.fetchval("SELECT pg_database_size(current_database())")
        finally:
            await connection.close()
        return size


async def bench_growth() -> None:
    for run_database in (_sqlite, _postgresql):
        with run_database() as database:
            await _bench_reading(database)
        # Another database: the jobs of the first are only there to be read.
        with run_database() as database:
            await _bench_crawl(database)


@contextmanager
def _sqlite() -> Iterator[_Database]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cinder.db"
        yield _Database("SQLite", f"sqlite:///{file}", (), file)


@contextmanager
def _postgresql() -> Iterator[_Database]:
    with run_measured_postgres() as server:
        yield _Database("PostgreSQL", server.url, (server.pid,))


async def _bench_reading(database: _Database) -> None:
    """Print what the status and a part of the ledger cost, at the end of jobs of each size."""
    async with _open(database) as store:
        for size in SIZES:
            await _fill(store, size)
    await database.run(_DESCRIBE)
    await database.run("ANALYZE")
    print(f"reading a job, {database.name}, CPU a request of server and database:")
    costs: dict[str, list[float]] = {"status": [], "ledger": []}
    async with _serve(database, CINDER_JOBS__ENABLED_IN_SERVER="false") as server:
        for size in SIZES:
            crawl = f"/v1/crawl/{_job_id(size)}"
            fetched = size // 2 - PART
            paths = {
                "status": f"{crawl}?offset={fetched}&limit={PART}",
                "ledger": f"{crawl}/ledger?offset={size - PART}&limit={PART}",
            }
            shown = []
            for name, path in paths.items():
                costs[name].append(await _cost_ms(server, database, path))
                shown.append(f"{name} {costs[name][-1]:.2f} ms")
            print(f"  {size:>7,} URLs: {', '.join(shown)}", flush=True)
    for name, each in costs.items():
        rates = {f"{size:,} URLs": 1000 / cost for size, cost in zip(SIZES, each, strict=True)}
        smallest, *_, largest = rates
        report(
            Table(
                f"growth-{name}-{database.name}",
                f"{name} of a job on {database.name} (goal {1000 / BAR_MS:g} for every size)",
                "requests a CPU second",
                rates,
                [Goal(largest, smallest, 1 / BAR_GROWTH)],
            )
        )


def _open(database: _Database) -> Store:
    return open_store(database.url, pool_size=2, observe=lambda _name, _seconds: None)


def _job_id(size: int) -> str:
    return f"crawl-{size:024x}"


async def _fill(store: Store, size: int) -> None:
    """Add a job of so many URLs, most of which have their fates."""
    job_id = _job_id(size)
    job = NewJob(
        id=job_id,
        kind=JobKind.CRAWL,
        owner=OWNER,
        spec={"url": _HOST},
        expires_at=datetime.now(UTC) + timedelta(days=1),
        max_pages=size,
    )
    await store.ledger.add_job(job)
    for first in range(0, size, _BATCH):
        numbers = range(first, min(first + _BATCH, size))
        await store.ledger.add_pages(job_id, [_page(job_id, number) for number in numbers])


def _page(job_id: str, number: int) -> NewPage:
    fate = _FATES[number % len(_FATES)]
    url = f"{_HOST}/{job_id}/{number}"
    return NewPage(
        url=url,
        fingerprint=blake2b(url.encode(), digest_size=16).digest(),
        host=_HOST,
        depth=2,
        fate=fate,
        reason="" if fate in (None, PageStatus.FETCHED) else "as the bench wants it",
    )


@asynccontextmanager
async def _serve(database: _Database, **variables: str) -> AsyncIterator[RunningServer]:
    with tempfile.TemporaryDirectory() as folder:
        async with run_server(
            Path(folder) / "data", CINDER_STORE__URL=database.url, **variables
        ) as server:
            yield server


async def _cost_ms(server: RunningServer, database: _Database, path: str) -> float:
    pids = (server.process.pid, *database.pids)
    async with server.client() as client:
        for _ in range(REQUESTS // 10):
            await _get(client, path)
        before = sum(map(tree_cpu_seconds, pids))
        for _ in range(REQUESTS):
            await _get(client, path)
        return (sum(map(tree_cpu_seconds, pids)) - before) * 1000 / REQUESTS


async def _get(client: httpx2.AsyncClient, path: str) -> httpx2.Response:
    response = await client.get(path)
    response.raise_for_status()
    return response


async def _bench_crawl(database: _Database) -> None:
    """Print what each thousand pages of a crawl cost, in CPU, memory and on disk."""
    print(f"crawl of {CRAWLED:,} small pages, {database.name}, by thousand:")
    async with (
        run_growing_website(CRAWLED) as website,
        _serve(
            database,
            CINDER_EGRESS__ALLOW=website.address,
            CINDER_LOG__LEVEL="warning",
            CINDER_JOBS__HOST_CONCURRENCY="16",
            CINDER_JOBS__CONCURRENCY="16",
        ) as server,
        server.client() as client,
    ):
        started = await client.post(
            "/v1/crawl",
            json={
                "url": f"http://{website.address}/",
                "maxPages": CRAWLED,
                "maxDepth": 9,
                "sitemap": "skip",
            },
        )
        crawl_id = started.raise_for_status().json()["crawlId"]
        pids = (server.process.pid, *database.pids)
        await _follow(client, f"/v1/crawl/{crawl_id}?limit=1", pids, database)


async def _follow(
    client: httpx2.AsyncClient, path: str, pids: tuple[int, ...], database: _Database
) -> None:
    """Print the cost of each thousand pages as they are fetched."""

    def used() -> float:
        return sum(map(tree_cpu_seconds, pids))

    pages, cpu, size = 0, used(), await database.bytes_on_disk()
    costs: list[float] = []
    until = time.monotonic() + _CRAWL_SECONDS
    is_over = False
    while not is_over:
        if time.monotonic() > until:
            raise TimeoutError(f"The crawl was not over after {_CRAWL_SECONDS} s")
        await asyncio.sleep(_LOOK_SECONDS)
        status = (await _get(client, path)).json()
        now, is_over = status["pagesCrawled"], status["status"] not in ("queued", "running")
        if now - pages < THOUSAND and not (is_over and now > pages):
            continue
        cpu_now, size_now = used(), await database.bytes_on_disk()
        costs.append((cpu_now - cpu) * 1000 / (now - pages))
        memory, room = _memory_mib(pids[0]), (size_now - size) / (now - pages)
        print(
            f"  {now:>6,} pages: {costs[-1]:.1f} ms CPU a page, {memory:.0f} MiB, "
            f"{room:,.0f} bytes a page",
            flush=True,
        )
        pages, cpu, size = now, cpu_now, size_now
    print(f"  {status['status']}, ended by {status['endedBy']}, {status['errorCount']} errors")
    first, last = "its first thousands", "its last thousands"
    report(
        Table(
            f"growth-crawl-{database.name}",
            f"crawl of {CRAWLED:,} small pages on {database.name}",
            "pages a CPU second",
            {first: 1000 / _mean(costs[1:4]), last: 1000 / _mean(costs[-4:-1])},
            [Goal(last, first, 1 / BAR_GROWTH)],
        )
    )


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


def _memory_mib(pid: int) -> float:
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    sizes: list[int] = []
    for each in family:
        with suppress(psutil.NoSuchProcess):
            sizes.append(each.memory_info().rss)
    return sum(sizes) / 2**20
