"""One caller who asks for all he may: another is served meanwhile, in about his usual time."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.models.caller import EVERYDAY_SCOPES
from cinder.models.job import JobKind, JobStatus
from cinder.models.request import (
    Action,
    ActionType,
    CachePolicy,
    Mode,
    RenderOptions,
    ScrapeRequest,
)
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.browser.conftest import browser_settings
from tests.resolver import TableResolver
from tests.site import Site

_SLOWER = 5
# On a busy machine a page takes so long now and then, whoever else asks.
_NOISE_SECONDS = 3.0
_HELD_MS = 60_000
_DEADLINE_SECONDS = 60


async def make_caller(app: App, name: str) -> str:
    return (await app.callers.create(name, EVERYDAY_SCOPES)).token.id


def a_page(url: str, caller: str, mode: Mode, *actions: Action) -> ScrapeRequest:
    return ScrapeRequest(
        url=url,
        timeout_ms=_HELD_MS,
        caller=caller,
        cache=CachePolicy(force_rescrape=True),
        render=RenderOptions(mode=mode, actions=actions),
    )


@asynccontextmanager
async def beside(work: Iterable[Coroutine[Any, Any, object]]) -> AsyncIterator[None]:
    """Have work under way during the block, and break off what is left of it."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def timed(scrape: Coroutine[Any, Any, ScrapeOutcome]) -> float:
    started = time.monotonic()
    async with asyncio.timeout(_DEADLINE_SECONDS):
        await scrape
    return time.monotonic() - started


async def until_asked(site: Site, path: str, times: int) -> None:
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while site.hits(path) < times:  # noqa: ASYNC110 - it happens in another thread
            await asyncio.sleep(0.02)


async def test_a_hundred_pages_that_never_end_do_not_hold_up_another_callers(
    app: App, site: Site
) -> None:
    alice, bob = [await make_caller(app, name) for name in ("alice", "bob")]
    fast = a_page(site.url("/article"), bob, Mode.STATIC)
    await app.scrape.scrape(fast)
    usual = await timed(app.scrape.scrape(fast))
    slow = [a_page(site.url(f"/silent?n={n}"), alice, Mode.STATIC) for n in range(100)]
    async with beside(map(app.scrape.scrape, slow)):
        await until_asked(site, "/silent", 48)
        assert await timed(app.scrape.scrape(fast)) < max(_SLOWER * usual, _NOISE_SECONDS)
        assert site.hits("/silent") == 48, "more than alice's share was fetched at once"


async def test_more_slow_actions_than_browsers_leave_one_to_another_caller(
    tmp_path: Path, site: Site
) -> None:
    settings = browser_settings(tmp_path, worker_pool_max_size_per_process=2)
    async with open_app(settings) as app:
        alice, bob = [await make_caller(app, name) for name in ("alice", "bob")]
        fast = a_page(site.url("/article"), bob, Mode.DYNAMIC)
        await app.scrape.scrape(fast)
        usual = await timed(app.scrape.scrape(fast))
        rest = Action(type=ActionType.WAIT, milliseconds=_HELD_MS // 2)
        slow = [a_page(site.url(f"/numbered?n={n}"), alice, Mode.DYNAMIC, rest) for n in range(4)]
        async with beside(map(app.scrape.scrape, slow)):
            await until_asked(site, "/numbered", 1)
            took = await timed(app.scrape.scrape(fast))
            assert took < max(_SLOWER * usual, 2 * _NOISE_SECONDS)
            assert site.hits("/numbered") == 1


async def test_many_jobs_of_one_caller_do_not_keep_anothers_from_starting(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as app:
        alice, bob = [await make_caller(app, name) for name in ("alice", "bob")]
        for n in range(12):
            url = site.url(f"/silent?n={n}")
            await app.jobs.start_batch([url], a_page(url, alice, Mode.STATIC))
        await until_asked(site, "/silent", 3)
        # Under another name: so many pages of one host at a time are for all callers together.
        url = f"http://site.test:{site.port}/article"
        job = (await app.jobs.start_batch([url], a_page(url, bob, Mode.STATIC))).job
        async with asyncio.timeout(_HELD_MS / 2000):
            while not job.status.is_over:
                await asyncio.sleep(0.02)
                job = await app.jobs.find(job.id, JobKind.BATCH, bob)
        assert (job.status, job.fetched) == (JobStatus.COMPLETED, 1)
        assert site.hits("/silent") == 3, "alice's jobs had more than their share of the slots"
        site.release()


@pytest.mark.parametrize("slots", [2, 8])
async def test_the_jobs_of_the_owner_alone_have_all_slots(
    settings: Settings, resolver: TableResolver, site: Site, slots: int
) -> None:
    jobs = settings.jobs.model_copy(update={"slots": slots, "host_concurrency": 100})
    chosen = settings.model_copy(update={"jobs": jobs})
    async with open_app(chosen, resolver=resolver, works_on_jobs=True) as app:
        for n in range(slots):
            url = site.url(f"/silent?n={n}")
            request = ScrapeRequest(url=url, timeout_ms=_HELD_MS)
            await app.jobs.start_batch([url], request)
        await until_asked(site, "/silent", slots)
        site.release()
