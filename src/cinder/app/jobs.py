"""Builds the job engine, workers and webhooks from the settings, and wakes other processes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from cinder.app.settings import settings_errors
from cinder.background import BackgroundTasks
from cinder.config.serving import JobsSettings
from cinder.config.settings import Settings
from cinder.egress.proxy import ForwardProxy
from cinder.fetch.base import Fetcher
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.jobs import engine_for
from cinder.jobs.base import JobEngine
from cinder.jobs.embedded import EmbeddedEngine
from cinder.jobs.schedules import SWEEP_SECONDS, Sweeper
from cinder.jobs.worker import JobWorker
from cinder.services.jobs.control import CheckWebhook, JobControl, JobLimits, NetworkChecks
from cinder.services.jobs.handlers import JobHandlers
from cinder.services.jobs.page_runner import PageRunner, RunLimits
from cinder.services.jobs.site_files import RobotsCache, SitemapReader, refuses_https
from cinder.services.jobs.throttle import HostThrottle
from cinder.services.scraping.service import ScrapeService
from cinder.services.webhook_delivery import DeliveryLimits, WebhookDelivery
from cinder.services.webhooks import JobEvents
from cinder.store.documents import Store
from cinder.worker_group import WorkerGroup

Wake: TypeAlias = Callable[[str], Awaitable[None]]

_WAKE = "wake"
_REMIND = "remind"


class WorkerGroupWaker:
    """Wakes all workers of a server for a job."""

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
        group.handle(_WAKE, self._wake_one)
        group.handle(_REMIND, self._wake_unknown)

    async def wake(self, job_id: str) -> None:
        """Wake all workers for a job."""
        await self._sweeper.wake(job_id)
        self._tasks.start(self._group.ask_others(_WAKE, job_id.encode()))

    async def remind_forever(self, seconds: float) -> None:
        """Send the ids of running jobs to the other workers, for those that started later."""
        while True:
            await asyncio.sleep(seconds)
            if at_work := self._engine.list_at_work():
                await self._group.ask_others(_REMIND, "\n".join(at_work).encode())

    async def _wake_one(self, job_id: bytes) -> bytes:
        await self._sweeper.wake(job_id.decode())
        return b""

    async def _wake_unknown(self, job_ids: bytes) -> bytes:
        for job_id in job_ids.decode().split("\n"):
            # A job that is known and waits must not be woken early.
            if not self._engine.knows(job_id):
                await self._sweeper.wake(job_id)
        return b""


@dataclass(frozen=True, slots=True)
class JobNetwork:
    """The fetcher of robots.txt and sitemaps, and the proxy of webhooks."""

    fetcher: Fetcher
    proxy: ForwardProxy
    check_webhook: CheckWebhook
    """Refuses a webhook whose address is blocked."""


@dataclass(frozen=True, slots=True)
class JobProcess:
    """The role of this process for jobs."""

    works: bool
    """Whether it runs them. Any process can start them."""
    group: WorkerGroup | None = None
    """The other processes of the same server."""


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """The open parts that start, check and report jobs."""

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
    """Open the parts that start jobs and, if this process runs them, the workers and webhooks."""
    jobs, ledger = settings.jobs, store.ledger
    async with AsyncExitStack() as parts:
        with settings_errors():
            engine = engine_for(settings.store_url, heartbeat_seconds=jobs.lease_seconds)
        await parts.enter_async_context(engine)
        # Often enough to find the job of a dead worker within two lease periods.
        seconds = min(SWEEP_SECONDS, jobs.lease_seconds / 2)
        sweeper = Sweeper(ledger, engine, workers=jobs.workers_per_job, seconds=seconds)
        limits = DeliveryLimits(concurrency=settings.webhooks.concurrency)
        options = ClientOptions(
            max_concurrency=settings.webhooks.concurrency,
            timeout_seconds=settings.webhooks.timeout_seconds,
        )
        client = await parts.enter_async_context(
            ProxiedClient(net.proxy, options, ca_file=settings.egress.ca_file)
        )
        webhooks = WebhookDelivery(store.outbox, client, limits)
        if process.works:
            runner = _make_runner(jobs, store, scraper, net.fetcher)
            worker = JobWorker(
                ledger, engine, runner.run_slice, sweeper=sweeper, emitter_of=JobEvents.of
            )
            tasks = await parts.enter_async_context(BackgroundTasks())
            tasks.start(worker.run(slots=jobs.slots))
            tasks.start(webhooks.deliver_forever())
            parts.callback(tasks.cancel_all)
        wake: Wake = sweeper.wake
        # The engine of PostgreSQL wakes all processes by itself.
        if process.group is not None and isinstance(engine, EmbeddedEngine):
            reminders = await parts.enter_async_context(BackgroundTasks())
            waker = WorkerGroupWaker(engine, sweeper, process.group, reminders)
            reminders.start(waker.remind_forever(seconds))
            parts.callback(reminders.cancel_all)
            wake = waker.wake
        job_limits = JobLimits(
            retention=timedelta(hours=jobs.retention_hours),
            max_open=jobs.max_open,
            max_open_per_caller=jobs.max_open_per_caller,
            max_batch_urls=jobs.max_batch_urls,
            max_pages=jobs.max_pages,
        )
        control = JobControl(
            ledger,
            wake,
            job_limits,
            clock,
            NetworkChecks(
                check_webhook=net.check_webhook,
                refuses_https=partial(refuses_https, net.fetcher),
                proxy_pools=net.proxy.pools,
            ),
        )
        yield OpenJobs(control, engine, webhooks)


def _make_runner(
    jobs: JobsSettings, store: Store, scraper: ScrapeService, fetcher: Fetcher
) -> PageRunner:
    ledger = store.ledger
    robots = RobotsCache(ledger, fetcher)
    throttle = HostThrottle(ledger, robots, delay_ms=jobs.host_delay_ms)
    sitemaps = SitemapReader(robots, fetcher, throttle.rest)
    handlers = JobHandlers(ledger, sitemaps, page_timeout_ms=jobs.page_timeout_ms)
    limits = RunLimits(
        concurrency=jobs.concurrency,
        host_concurrency=jobs.host_concurrency,
        lease_seconds=jobs.lease_seconds,
        crash_tries=jobs.crash_tries,
        slice_seconds=jobs.slice_seconds,
        look_seconds=min(1, jobs.lease_seconds / 3),
        max_bytes=jobs.max_bytes,
    )
    return PageRunner(
        ledger, scraper, throttle, handlers.of, limits, has_room=lambda: not store.is_full
    )
