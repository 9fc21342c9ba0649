"""Builds the job engine, workers and webhooks from the settings, and wakes other processes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from cinder.app.settings import settings_errors
from cinder.background import BackgroundTasks
from cinder.config import JobsSettings, Settings
from cinder.egress import ForwardProxy
from cinder.fetch.base import Fetcher
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.jobs import JobEngine, engine_for
from cinder.jobs.embedded import EmbeddedEngine
from cinder.jobs.schedules import SWEEP_SECONDS, Sweeper
from cinder.jobs.worker import JobWorker
from cinder.services.jobs.control import CheckWebhook, JobControl, JobLimits
from cinder.services.jobs.handlers import JobHandlers
from cinder.services.jobs.page_runner import PageRunner, RunLimits
from cinder.services.jobs.site_files import RobotsCache, SitemapReader
from cinder.services.jobs.throttle import HostThrottle
from cinder.services.scraping.service import ScrapeService
from cinder.services.webhook_delivery import DeliveryLimits, WebhookDelivery
from cinder.services.webhooks import JobEvents
from cinder.store import Store
from cinder.worker_group import WorkerGroup

Wake: TypeAlias = Callable[[str], Awaitable[None]]

_WAKE = "wake"
_REMIND = "remind"


class WorkerGroupWaker:
    """Has every worker look after a job, this one at once."""

    def __init__(
        self,
        engine: EmbeddedEngine,
        sweeper: Sweeper,
        group: WorkerGroup,
        tasks: BackgroundTasks,
    ) -> None:
        self._engine = engine
        self._sweeper = sweeper
        self._group = group
        self._tasks = tasks
        group.handle(_WAKE, self._wake_here)
        group.handle(_REMIND, self._wake_unknown)

    async def wake(self, job_id: str) -> None:
        """Have all workers look after a job now."""
        await self._sweeper.wake(job_id)
        self._tasks.start(self._group.ask_others(_WAKE, job_id.encode()))

    async def remind_forever(self, seconds: float) -> None:
        """Tell the others again and again what is worked on here: one may be new, and take part."""
        while True:
            await asyncio.sleep(seconds)
            if at_work := self._engine.list_at_work():
                await self._group.ask_others(_REMIND, "\n".join(at_work).encode())

    async def _wake_here(self, job_id: bytes) -> bytes:
        await self._sweeper.wake(job_id.decode())
        return b""

    async def _wake_unknown(self, job_ids: bytes) -> bytes:
        for job_id in job_ids.decode().split("\n"):
            # A job that waits for a later moment is not to be looked after sooner.
            if not self._engine.knows(job_id):
                await self._sweeper.wake(job_id)
        return b""


@dataclass(frozen=True, slots=True)
class JobNetwork:
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
    engine: JobEngine
    webhooks: WebhookDelivery


@asynccontextmanager
async def open_jobs(
    settings: Settings,
    store: Store,
    scraper: ScrapeService,
    net: JobNetwork,
    *,
    process: JobProcess,
    clock: Callable[[], datetime],
) -> AsyncIterator[OpenJobs]:
    """Open what starts jobs and, in a process that works, what works on them and tells of them."""
    jobs, ledger = settings.jobs, store.ledger
    async with AsyncExitStack() as parts:
        with settings_errors():
            engine = engine_for(settings.store_url, heartbeat_seconds=jobs.lease_seconds)
        await parts.enter_async_context(engine)
        # Often enough for a dead worker's job to be found in its second lease period.
        seconds = min(SWEEP_SECONDS, jobs.lease_seconds / 2)
        sweeper = Sweeper(ledger, engine, seats=jobs.workers_per_job, seconds=seconds)
        client = await parts.enter_async_context(_make_webhook_client(settings, net.proxy))
        limits = DeliveryLimits(concurrency=settings.webhooks.concurrency)
        webhooks = WebhookDelivery(store.outbox, client, limits)
        if process.works:
            runner = _make_runner(jobs, store, scraper, net.fetcher)
            attendants = JobWorker(
                ledger, engine, runner.run_slice, sweeper=sweeper, emitter_of=JobEvents.of
            )
            tasks = await parts.enter_async_context(BackgroundTasks())
            tasks.start(attendants.run(slots=jobs.slots))
            tasks.start(webhooks.deliver_forever())
            parts.callback(tasks.cancel_all)
        wake: Wake = sweeper.wake
        # The engine of PostgreSQL wakes all processes by itself.
        if process.group is not None and isinstance(engine, EmbeddedEngine):
            telling = await parts.enter_async_context(BackgroundTasks())
            waking = WorkerGroupWaker(engine, sweeper, process.group, telling)
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
    robots = RobotsCache(ledger, fetcher)
    throttle = HostThrottle(ledger, robots, delay_ms=jobs.host_delay_ms)
    sitemaps = SitemapReader(robots, fetcher, throttle.rest)
    works = JobHandlers(ledger, sitemaps, page_timeout_ms=jobs.page_timeout_ms)
    return PageRunner(
        ledger,
        scraper,
        throttle,
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
