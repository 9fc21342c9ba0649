"""The page runner: outcomes, leases, failures, and the isolation of crashing pages."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.errors import CacheFailed, EgressBlocked
from cinder.models.job import Job, JobStatus, LedgerPage, PageLease, PageStatus
from cinder.models.request import CachePolicy, Mode, RenderOptions, ScrapeRequest
from cinder.services.jobs.control import JobControl, JobLimits
from cinder.services.jobs.handlers import BatchHandler, JobHandler, JobHandlers, PageOutcome
from cinder.services.jobs.page_runner import CrashIsolation, PageRunner, RunLimits
from cinder.services.jobs.site_files import RobotsCache, SitemapReader
from cinder.services.jobs.specs import CrawlSpec
from cinder.services.jobs.throttle import HostThrottle
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store import open_store
from cinder.store.documents import Store
from tests.resolver import TableResolver
from tests.services.jobs.samples import TableFetcher
from tests.site import Site
from tests.store.ledger.samples import limits, the_job
from tests.store.samples import Clock

STATIC = ScrapeRequest(
    url="",
    timeout_ms=20_000,
    cache=CachePolicy(force_rescrape=True),
    render=RenderOptions(mode=Mode.STATIC),
)
ROUNDS = 20


class Operations:
    """Tells when the ledger has done something."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.counts: dict[str, int] = {}

    def __call__(self, name: str, _seconds: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        self._event.set()

    async def wait_for(self, name: str) -> None:
        before = self.counts.get(name, 0)
        async with asyncio.timeout(60):
            while self.counts.get(name, 0) == before:
                self._event.clear()
                await self._event.wait()


class Bench:
    """A page runner on a real store and scraper."""

    def __init__(self, app: App, store: Store, site: Site, robots: TableFetcher) -> None:
        self.store, self.site = store, site
        self.robots = robots
        keeper = RobotsCache(store.ledger, robots)
        self._works = JobHandlers(
            store.ledger, SitemapReader(keeper, robots), page_timeout_ms=20_000
        )
        self._throttle = HostThrottle(store.ledger, keeper)
        self._app = app
        self.control = JobControl(store.ledger, self._wake, JobLimits())

    async def _wake(self, job_id: str) -> None:
        """Do nothing: the test runs the job."""

    def runner(self, has_room: Callable[[], bool] = lambda: True, **changes: float) -> PageRunner:
        bounds = replace(RunLimits(look_seconds=0.05), **changes)  # type: ignore[arg-type]  # by tests
        return PageRunner(
            self.store.ledger,
            self._app.scrape,
            self._throttle,
            self.work_of,
            bounds,
            has_room=has_room,
        )

    async def work_of(self, job: Job) -> JobHandler:
        return await self._works.of(job)

    async def start_batch(self, *paths: str) -> Job:
        urls = [self.site.url(path) for path in paths]
        return (await self.control.start_batch(urls, STATIC)).job

    async def start_crawl(self, path: str) -> Job:
        return await self.control.start_crawl(CrawlSpec(url=self.site.url(path)), "owner")

    async def ledger(self, job: Job) -> dict[str, LedgerPage]:
        pages = await self.control.list_pages(job, None, offset=0, limit=100)
        return {page.url.removeprefix(self.site.url("")): page for page in pages}


@pytest.fixture
def operations() -> Operations:
    return Operations()


@pytest.fixture
async def bench(
    app: App, site: Site, settings: Settings, clock: Clock, operations: Operations
) -> AsyncIterator[Bench]:
    robots = TableFetcher({})
    async with open_store(
        settings.store_url, pool_size=2, observe=operations, clock=clock
    ) as opened:
        yield Bench(app, opened, site, robots)


async def run_to_the_end(runner: PageRunner, job: Job, clock: Clock) -> None:
    """Run a job until it ends; the clock advances where it waits."""
    for _ in range(ROUNDS):
        seconds = await runner.run_slice(job.id)
        if seconds is None:
            return
        clock.move_on(timedelta(seconds=seconds + 0.001))
    raise AssertionError(f"{job.id} is not over after {ROUNDS} slices")


async def run_once(runner: PageRunner, job: Job) -> float | CacheFailed | None:
    """Run one slice; return its result, or the error of the database."""
    try:
        async with asyncio.timeout(60):
            return await runner.run_slice(job.id)
    except CacheFailed as error:
        return error


@asynccontextmanager
async def running(
    runner: PageRunner, job: Job
) -> AsyncIterator[asyncio.Task[float | CacheFailed | None]]:
    """Run one slice during the block, and wait for its end."""
    async with asyncio.TaskGroup() as group:
        yield group.create_task(run_once(runner, job))


@contextmanager
def out_of_reach(settings: Settings) -> Iterator[None]:
    """Hide the ledger's table during the block."""
    path = settings.store_url.removeprefix("sqlite:///")
    with sqlite3.connect(path, timeout=10) as connection:
        connection.execute("ALTER TABLE frontier RENAME TO hidden")
    try:
        yield
    finally:
        with sqlite3.connect(path, timeout=10) as connection:
            connection.execute("ALTER TABLE hidden RENAME TO frontier")


async def test_every_page_of_a_batch_has_its_fate_and_is_saved(bench: Bench, clock: Clock) -> None:
    job = await bench.start_batch("/article", "/status?code=404", "/guide")
    await run_to_the_end(bench.runner(), job, clock)

    pages = await bench.ledger(job)
    assert {path: page.fate for path, page in pages.items()} == {
        "/article": PageStatus.FETCHED,
        "/status?code=404": PageStatus.FAILED,
        "/guide": PageStatus.FETCHED,
    }
    assert pages["/article"].title == "Ember care"
    assert pages["/article"].uris
    assert pages["/status?code=404"].status_code == 404
    done = await the_job(bench.store, job.id)
    assert (done.status, done.fetched, done.failed) == (JobStatus.COMPLETED, 2, 1)


async def test_no_site_is_asked_while_there_is_no_room_for_its_pages(
    bench: Bench, site: Site
) -> None:
    job = await bench.start_batch("/article")
    assert await bench.runner(has_room=lambda: False).run_slice(job.id) == 1
    assert site.hits("/article") == 0
    assert await bench.runner().run_slice(job.id) is None
    assert site.hits("/article") == 1


async def test_a_page_that_cannot_be_had_fails_alone(bench: Bench, clock: Clock) -> None:
    job = await bench.start_batch("/redirect-loop", "/wall?code=403", "/article")
    await run_to_the_end(bench.runner(), job, clock)

    pages = await bench.ledger(job)
    assert pages["/redirect-loop"].fate is PageStatus.FAILED
    assert pages["/redirect-loop"].reason.startswith("Failed to scrape ")
    wall = pages["/wall?code=403"]
    assert (wall.fate, wall.verdict, wall.status_code) == (PageStatus.FAILED, "blocked", 403)
    assert pages["/article"].fate is PageStatus.FETCHED


async def test_a_crawl_of_an_address_that_is_closed_to_it_says_so_at_once(bench: Bench) -> None:
    robots = bench.site.url("/robots.txt")
    bench.robots.table[robots] = EgressBlocked("It is not a public address", url=robots)
    job = await bench.start_crawl("/article")
    assert await bench.runner().run_slice(job.id) is None

    done = await the_job(bench.store, job.id)
    assert done.status is JobStatus.FAILED
    assert "It is not a public address" in (done.error or "")


async def test_what_robots_txt_forbids_is_not_asked_for(bench: Bench, clock: Clock) -> None:
    bench.robots.table[bench.site.url("/robots.txt")] = b"User-agent: *\nDisallow: /guide"
    job = await bench.start_batch("/guide", "/article", "/redirect?to=/guide")
    await run_to_the_end(bench.runner(concurrency=1), job, clock)

    pages = await bench.ledger(job)
    assert pages["/guide"].fate is PageStatus.DISALLOWED
    assert pages["/redirect?to=/guide"].fate is PageStatus.DISALLOWED
    assert pages["/redirect?to=/guide"].reason.startswith("it redirects to ")
    assert pages["/article"].fate is PageStatus.FETCHED
    assert bench.site.hits("/guide") == 0


async def test_a_host_that_says_not_now_is_asked_again_later(bench: Bench, clock: Clock) -> None:
    job = await bench.start_batch("/flaky?failures=4")
    await run_to_the_end(bench.runner(), job, clock)

    assert (await bench.ledger(job))["/flaky?failures=4"].fate is PageStatus.FETCHED
    assert bench.site.hits("/flaky") == 5
    assert clock.now - job.created_at >= timedelta(seconds=1)


@pytest.mark.parametrize("code", [429, 503])
async def test_a_host_that_never_has_time_has_failed_in_the_end(
    bench: Bench, clock: Clock, code: int
) -> None:
    job = await bench.start_batch(f"/status?code={code}")
    await run_to_the_end(bench.runner(), job, clock)

    page = (await bench.ledger(job))[f"/status?code={code}"]
    assert (page.fate, page.status_code) == (PageStatus.FAILED, code)
    assert clock.now - job.created_at >= timedelta(seconds=15)


async def test_a_cancelled_job_stops_what_is_under_way(bench: Bench) -> None:
    job = await bench.start_batch("/silent")
    async with running(bench.runner(), job) as attended:
        await bench.site.asked("/silent")
        await bench.control.cancel(job)

    assert attended.result() is None
    assert (await bench.ledger(job))["/silent"].fate is PageStatus.LEFT
    assert (await the_job(bench.store, job.id)).status is JobStatus.CANCELLED


async def test_leases_are_renewed_while_a_page_takes_long(
    bench: Bench, clock: Clock, operations: Operations
) -> None:
    job = await bench.start_batch("/silent")
    # A third of it is real time, which the test cannot advance.
    async with running(bench.runner(lease_seconds=6), job):
        await bench.site.asked("/silent")
        clock.move_on(timedelta(seconds=4))
        await operations.wait_for("renew")
        clock.move_on(timedelta(seconds=4))
        others = await bench.store.ledger.lease(job.id, limits())
        bench.site.release()

    assert others.claims == ()
    assert (await bench.ledger(job))["/silent"].fate is PageStatus.FETCHED
    assert bench.site.hits("/silent") == 1


async def test_pages_that_take_long_keep_no_other_place_empty(bench: Bench) -> None:
    slow = [f"/silent?page={number}" for number in range(3)]
    job = await bench.start_batch(*slow, "/article", "/guide")
    # Three of four places are taken to the end: the other pages go through the fourth.
    async with running(bench.runner(concurrency=4), job):
        await bench.site.asked("/guide")
        bench.site.release()

    assert {page.fate for page in (await bench.ledger(job)).values()} == {PageStatus.FETCHED}


async def test_who_ends_in_good_order_gives_his_pages_back(bench: Bench) -> None:
    job = await bench.start_batch("/silent")
    task = asyncio.ensure_future(bench.runner().run_slice(job.id))
    await bench.site.asked("/silent")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    (claim,) = (await bench.store.ledger.lease(job.id, limits())).claims
    assert claim.tries == 0


async def test_who_is_stopped_while_he_claims_pages_gives_them_back(
    bench: Bench, settings: Settings
) -> None:
    job = await bench.start_batch("/article")
    path = settings.store_url.removeprefix("sqlite:///")
    with sqlite3.connect(path, timeout=10) as other:
        other.execute("BEGIN IMMEDIATE")  # so that nothing is claimed before it ends
        task = asyncio.ensure_future(bench.runner().run_slice(job.id))
        done, _ = await asyncio.wait([task], timeout=0.5)
        assert not done
        task.cancel()
        other.rollback()
    with suppress(asyncio.CancelledError):
        await task

    assert len((await bench.store.ledger.lease(job.id, limits())).claims) == 1


async def test_a_page_whose_lease_was_lost_is_left_to_the_other(bench: Bench, clock: Clock) -> None:
    job = await bench.start_batch("/silent")
    async with running(bench.runner(concurrency=1, look_seconds=60), job):
        await bench.site.asked("/silent")
        clock.move_on(timedelta(seconds=31))
        (other,) = (await bench.store.ledger.lease(job.id, limits(is_alone=True))).claims
        bench.site.release()

    assert other.fence == 2
    assert (await the_job(bench.store, job.id)).fetched == 0


async def test_suspects_are_fetched_after_the_others(bench: Bench, clock: Clock) -> None:
    job = await bench.start_batch("/article", "/guide", "/silent")
    await bench.store.ledger.lease(job.id, limits(count=2))
    clock.move_on(timedelta(seconds=31))
    async with running(bench.runner(look_seconds=60), job) as attended:
        await bench.site.asked("/silent")
        before = (bench.site.hits("/article"), bench.site.hits("/guide"))
        bench.site.release()

    assert (before, attended.result()) == ((0, 0), None)
    assert {page.fate for page in (await bench.ledger(job)).values()} == {PageStatus.FETCHED}


async def test_suspect_is_fetched_while_no_other_job_has_a_page_in_the_process(
    bench: Bench, clock: Clock
) -> None:
    suspected, other = await bench.start_batch("/article"), await bench.start_batch("/silent")
    await bench.store.ledger.lease(suspected.id, limits())
    clock.move_on(timedelta(seconds=31))
    runner = bench.runner(look_seconds=60)
    async with running(runner, other) as attended:
        await bench.site.asked("/silent")
        async with running(runner, suspected) as isolated:
            # A job that waits to run alone lets no other start.
            third = await bench.start_batch("/guide")
            while await runner.run_slice(third.id) is None:
                third = await bench.start_batch("/guide")
            asked_for = bench.site.hits("/article")
            bench.site.release()
        assert isolated.result() is None

    assert (asked_for, attended.result()) == (0, 0)
    assert (await bench.ledger(suspected))["/article"].fate is PageStatus.FETCHED
    assert [await runner.run_slice(job.id) for job in (other, third)] == [None, None]


async def test_a_database_that_is_away_ends_the_look_and_nothing_is_lost(
    bench: Bench, settings: Settings, clock: Clock
) -> None:
    job = await bench.start_crawl("/silent")
    runner = bench.runner(concurrency=1, look_seconds=60)
    async with running(runner, job) as attended:
        await bench.site.asked("/silent")
        with out_of_reach(settings):
            bench.site.release()
            assert isinstance(await attended, CacheFailed)

    clock.move_on(timedelta(seconds=60))
    await run_to_the_end(runner, job, clock)
    pages = await bench.ledger(job)
    # It names the article, which has the same text, as its canonical URL.
    assert (pages["/silent"].fate, pages["/article"].fate) == (
        PageStatus.FETCHED,
        PageStatus.DUPLICATE,
    )
    # Its links had been read before, in vain.
    assert pages["/about"].fate is PageStatus.FAILED


class Stumbling(BatchHandler):
    """A batch whose handler raises an unexpected error for one page."""

    def read(self, lease: PageLease, outcome: ScrapeOutcome) -> PageOutcome:
        if lease.url.endswith("/guide"):
            raise RecursionError
        return super().read(lease, outcome)


class StumblingBench(Bench):
    async def work_of(self, job: Job) -> JobHandler:
        return Stumbling(job, self.store.ledger)


async def test_a_page_with_an_unexpected_error_fails_alone(
    app: App, bench: Bench, site: Site, clock: Clock
) -> None:
    stumbling = StumblingBench(app, bench.store, site, bench.robots)
    job = await stumbling.start_batch("/guide", "/article")
    await run_to_the_end(stumbling.runner(), job, clock)

    pages = await stumbling.ledger(job)
    assert (pages["/guide"].fate, pages["/article"].fate) == (PageStatus.FAILED, PageStatus.FETCHED)
    assert "RecursionError" in pages["/guide"].reason


async def test_seeds_that_come_late_are_not_left_out(bench: Bench, clock: Clock) -> None:
    place = bench.site.url("/sitemap.xml")
    listed = f"<urlset><loc>{bench.site.url('/guide')}</loc></urlset>"
    bench.robots.table[place] = listed.encode()
    bench.robots.held = asyncio.Event()
    job = await bench.start_crawl("/latin")
    runner = bench.runner(slice_seconds=0.5)
    async with running(runner, job):
        # Long enough for the look's time to be over before the sitemap is there.
        asyncio.get_running_loop().call_later(1.5, bench.robots.held.set)
    await run_to_the_end(runner, job, clock)

    assert (await bench.ledger(job))["/guide"].fate is PageStatus.FETCHED


async def test_single_scrapes_do_not_wait_for_the_pages_of_jobs(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    urls = [site.url(f"/silent?n={number}") for number in range(40)]
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as app:
        started = await app.jobs.start_batch(urls, STATIC)
        await site.asked("/silent")
        async with asyncio.timeout(60):
            for number in range(5):
                url = site.url(f"/numbered?n={number}")
                outcome = await app.scrape.scrape(replace(STATIC, url=url))
                assert outcome.document.status_code == 200
        report = await app.jobs.report(started.job)
        await app.jobs.cancel(started.job)
        site.release()

    assert report.finished == 0


async def test_a_job_that_had_as_many_bytes_as_it_may_ends_and_says_so(
    bench: Bench, clock: Clock
) -> None:
    job = await bench.start_batch("/article", "/guide", "/status?code=404")
    await run_to_the_end(bench.runner(concurrency=1, look_seconds=0, max_bytes=500), job, clock)

    done = await the_job(bench.store, job.id)
    assert (done.status, done.fetched) == (JobStatus.COMPLETED, 1)
    assert done.bytes_fetched > 500
    assert done.error is not None
    assert "jobs.max-bytes" in done.error
    pages = await bench.ledger(job)
    assert [page.fate for page in pages.values()] == [
        PageStatus.FETCHED,
        PageStatus.LEFT,
        PageStatus.LEFT,
    ]
    assert pages["/guide"].reason == done.error
    assert bench.site.hits("/guide") == 0


async def stay_alone(isolation: CrashIsolation, begun: asyncio.Event, until: asyncio.Event) -> bool:
    async with isolation.alone() as is_alone:
        begun.set()
        await until.wait()
        return is_alone


async def test_jobs_work_beside_each_other_as_long_as_none_is_to_be_alone() -> None:
    isolation = CrashIsolation()
    with isolation.beside_others() as first, isolation.beside_others() as second:
        assert (first, second, isolation.is_wanted) == (True, True, False)


async def test_job_is_alone_once_those_at_work_have_ended_and_no_other_begins() -> None:
    isolation, begun, end = CrashIsolation(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        with isolation.beside_others() as one, isolation.beside_others() as other:
            alone = group.create_task(stay_alone(isolation, begun, end))
            await asyncio.sleep(0)  # it begins, and finds others at work
            assert isolation.is_wanted
            with isolation.beside_others() as late:
                assert (one, other, late) == (True, True, False)
            assert not begun.is_set()
        await begun.wait()
        with isolation.beside_others() as later:
            assert not later
        end.set()
    assert alone.result()
    with isolation.beside_others() as after:
        assert after


async def test_second_job_that_is_to_be_alone_comes_back_later() -> None:
    isolation, begun, end = CrashIsolation(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(stay_alone(isolation, begun, end))
        await begun.wait()
        assert not isolation.is_waited_for
        async with isolation.alone() as is_alone:
            assert not is_alone
        assert (isolation.is_waited_for, isolation.is_wanted) == (True, True)
        end.set()


async def test_job_that_gives_up_waiting_lets_the_others_begin() -> None:
    isolation, begun = CrashIsolation(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        with isolation.beside_others():
            waiting = group.create_task(stay_alone(isolation, begun, begun))
            await asyncio.sleep(0)  # it begins, and finds others at work
            assert isolation.is_wanted
            waiting.cancel()
            await asyncio.wait([waiting])
        with isolation.beside_others() as is_open:
            assert is_open
