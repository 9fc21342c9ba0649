"""Jobs, built from the settings: who starts them, who is woken, and who works on them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from cinder.app.group_waking import GroupWaking, Wake
from cinder.app.values import reading_settings
from cinder.background import BackgroundTasks
from cinder.config import JobsSettings, Settings
from cinder.egress import ForwardProxy
from cinder.fetch.base import Fetcher
from cinder.fetch.client import ClientOptions, ProxiedClient
from cinder.jobs import Engine, engine_for
from cinder.jobs.attendants import Attendants
from cinder.jobs.embedded import EmbeddedEngine
from cinder.jobs.sweeper import SWEEP_SECONDS, Sweeper
from cinder.services.jobs.control import CheckWebhook, JobControl, JobLimits
from cinder.services.jobs.courtesy import Courtesy
from cinder.services.jobs.page_runner import PageRunner, RunLimits
from cinder.services.jobs.robots import RobotsKeeper
from cinder.services.jobs.seeds import SitemapReader
from cinder.services.jobs.works import Works
from cinder.services.scraping.service import ScrapeService
from cinder.services.webhook_events import JobEvents
from cinder.services.webhooks import DeliveryLimits, Webhooks
from cinder.store import Store
from cinder.worker_group import WorkerGroup


@dataclass(frozen=True, slots=True)
class Net:
    """The ways out: what fetches robots.txt and sitemaps, and what events leave through."""

    fetcher: Fetcher
    proxy: ForwardProxy
    check_webhook: CheckWebhook
    """Refuses a webhook that events could not leave for."""


@dataclass(frozen=True, slots=True)
class JobProcess:
    """What this process has to do with jobs beside starting them."""

    works: bool
    """Whether it works on them."""
    group: WorkerGroup | None = None
    """The others that are one server with it."""


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """What callers need to start jobs, and health checks to know of them."""

    control: JobControl
    engine: Engine
    webhooks: Webhooks


@asynccontextmanager
async def open_jobs(
    settings: Settings,
    store: Store,
    scraper: ScrapeService,
    net: Net,
    *,
    process: JobProcess,
    clock: Callable[[], datetime],
) -> AsyncIterator[OpenJobs]:
    """Open what starts jobs and, in a process that works, what works on them and tells of them."""
    jobs, ledger = settings.jobs, store.ledger
    async with AsyncExitStack() as parts:
        with reading_settings():
            engine = engine_for(settings.store_url, heartbeat_seconds=jobs.lease_seconds)
        await parts.enter_async_context(engine)
        # Often enough for a dead worker's job to be found in its second lease period.
        seconds = min(SWEEP_SECONDS, jobs.lease_seconds / 2)
        sweeper = Sweeper(ledger, engine, seats=jobs.workers_per_job, seconds=seconds)
        client = await parts.enter_async_context(_make_webhook_client(settings, net.proxy))
        limits = DeliveryLimits(concurrency=settings.webhooks.concurrency)
        webhooks = Webhooks(store.outbox, client, limits)
        if process.works:
            runner = _make_runner(jobs, store, scraper, net.fetcher)
            attendants = Attendants(
                ledger, engine, runner.attend, sweeper=sweeper, teller_of=JobEvents.of
            )
            tasks = await parts.enter_async_context(BackgroundTasks())
            tasks.start(attendants.run(slots=jobs.slots))
            tasks.start(webhooks.deliver_forever())
            parts.callback(tasks.cancel_all)
        wake: Wake = sweeper.wake
        # The engine of PostgreSQL wakes all processes by itself.
        if process.group is not None and isinstance(engine, EmbeddedEngine):
            telling = await parts.enter_async_context(BackgroundTasks())
            waking = GroupWaking(engine, sweeper, process.group, telling)
            telling.start(waking.remind_forever(seconds))
            parts.callback(telling.cancel_all)
            wake = waking.wake
        control = JobControl(
            ledger, wake, _job_limits(jobs), clock, check_webhook=net.check_webhook
        )
        yield OpenJobs(control, engine, webhooks)


def _make_webhook_client(settings: Settings, proxy: ForwardProxy) -> ProxiedClient:
    options = ClientOptions(
        max_concurrency=settings.webhooks.concurrency,
        timeout_seconds=settings.webhooks.timeout_seconds,
    )
    return ProxiedClient(proxy, options, ca_file=settings.egress.ca_file)


def _make_runner(
    jobs: JobsSettings, store: Store, scraper: ScrapeService, fetcher: Fetcher
) -> PageRunner:
    ledger = store.ledger
    robots = RobotsKeeper(ledger, fetcher)
    courtesy = Courtesy(ledger, robots, delay_ms=jobs.host_delay_ms)
    sitemaps = SitemapReader(robots, fetcher, courtesy.rest)
    works = Works(ledger, sitemaps, page_timeout_ms=jobs.page_timeout_ms)
    return PageRunner(
        ledger,
        scraper,
        courtesy,
        works.of,
        _run_limits(jobs),
        has_room=lambda: not store.is_full,
    )


def _run_limits(jobs: JobsSettings) -> RunLimits:
    return RunLimits(
        concurrency=jobs.concurrency,
        host_concurrency=jobs.host_concurrency,
        lease_seconds=jobs.lease_seconds,
        crash_tries=jobs.crash_tries,
        slice_seconds=jobs.slice_seconds,
        look_seconds=min(1, jobs.lease_seconds / 3),
        max_bytes=jobs.max_bytes,
    )


def _job_limits(jobs: JobsSettings) -> JobLimits:
    return JobLimits(
        retention=timedelta(hours=jobs.retention_hours),
        max_open=jobs.max_open,
        max_open_per_caller=jobs.max_open_per_caller,
        max_batch_urls=jobs.max_batch_urls,
        max_pages=jobs.max_pages,
    )
