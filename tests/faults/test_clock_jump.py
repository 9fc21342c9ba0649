"""The time of day jumps by an hour: limits, ages, budgets, schedules and jobs are none the worse.

Leases and the rests of hosts are tried on both databases in `tests/store/ledger`.
"""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

import cinder
from cinder.app.composition import open_app
from cinder.config.settings import Settings
from cinder.errors import RateLimited
from cinder.jobs.schedules import Schedules
from cinder.models.caller import EVERYDAY_SCOPES, CallerPolicy
from cinder.models.document import Json
from cinder.models.job import JobKind
from cinder.server.asgi import create_app
from cinder.services.auth import TokenService
from cinder.services.rate_limits import (
    DatabaseCounterStorage,
    MemoryCounterStorage,
    RateLimitBucket,
    RateLimits,
)
from cinder.store import open_store
from cinder.store.documents import Store
from tests.api.working import asking
from tests.faults.asking import scrape, until
from tests.resolver import TableResolver
from tests.site import Site
from tests.store.samples import Clock

HOUR = timedelta(hours=1)
_DAY_MS = 24 * 3600 * 1000

# Where the time of day is asked for though nothing lasts by it: the default of what the database
# counts by, and a name that nobody else uses. And a browser's session: it outlives the process.
_BY_TIME_OF_DAY = {
    "services/rate_limits.py",
    "server/auth.py",
}


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    return clock


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    url = f"sqlite:///{tmp_path / 'cinder.db'}"
    async with open_store(url, pool_size=2, observe=lambda *_: None, clock=clock) as opened:
        yield opened


@pytest.fixture
async def client(
    settings: Settings, resolver: TableResolver, clock: Clock
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that goes by the clock, and works on jobs."""
    opening = open_app(settings, resolver=resolver, works_on_jobs=True, clock=clock)
    api = create_app(settings, opening)
    async with asking(api) as opened:
        yield opened


async def test_a_page_from_the_future_is_not_called_fresh(
    client: httpx2.AsyncClient, clock: Clock, site: Site
) -> None:
    url = site.url("/article")
    await scrape(client, url, maxAge=_DAY_MS)
    clock.move_on(HOUR)
    later = (await scrape(client, url, maxAge=_DAY_MS)).json()["data"]
    assert (later["cached"], site.hits("/article")) == (True, 1)
    clock.move_on(-2 * HOUR)
    for _ in range(2):
        assert (await scrape(client, url, maxAge=_DAY_MS)).status_code == 200
    # Asked for once more, and kept with an age that can be told.
    assert site.hits("/article") == 2
    last = (await scrape(client, url, maxAge=_DAY_MS)).json()["data"]
    assert (last["cached"], site.hits("/article")) == (True, 2)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_job_under_way_is_done_to_the_last_page(
    client: httpx2.AsyncClient, clock: Clock, site: Site, jump: timedelta
) -> None:
    urls = [site.url(f"/silent?n={number}") for number in range(6)]
    started_job = await client.post("/api/v2/scrape", json={"urls": urls})
    job_id = started_job.json()["data"]["jobId"]
    await site.asked("/silent")
    clock.move_on(jump)
    site.release()

    async def is_over() -> bool:
        asked = {"command": "status", "jobId": job_id}
        data = (await client.post("/api/v2/scrape", json=asked)).json()["data"]
        assert data["status"] in ("scraping", "completed"), data
        return data["status"] == "completed" and len(data["pages"]) == len(urls)

    await until(is_over)


async def test_who_had_his_share_waits_for_a_window_and_not_for_the_time_of_day() -> None:
    now = 1_000.0
    limits = RateLimits(
        MemoryCounterStorage(lambda: now), {RateLimitBucket.TOKEN: "1/minute"}, clock=lambda: now
    )
    await limits.hit(RateLimitBucket.TOKEN, "ci")
    with pytest.raises(RateLimited) as refused:
        await limits.hit(RateLimitBucket.TOKEN, "ci")
    assert refused.value.retry_after_seconds == 60
    now += 60
    assert await limits.hit(RateLimitBucket.TOKEN, "ci")


async def test_shared_windows_do_not_last_longer_for_a_clock_set_back(
    store: Store, clock: Clock
) -> None:
    storage = DatabaseCounterStorage(store.counts, 60)
    limits = RateLimits(
        storage, {RateLimitBucket.FAILED_LOGIN: "1/minute"}, clock=lambda: clock().timestamp()
    )
    await limits.hit(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")
    with pytest.raises(RateLimited):
        await limits.require_left(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")
    clock.move_on(-HOUR)
    await limits.require_left(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")
    await limits.hit(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")
    with pytest.raises(RateLimited) as refused:
        await limits.hit(RateLimitBucket.FAILED_LOGIN, "10.0.0.1")
    assert refused.value.retry_after_seconds == 60


async def test_a_days_pages_are_neither_given_back_nor_taken_twice(
    store: Store, clock: Clock
) -> None:
    callers, policy = TokenService(store.tokens, clock), CallerPolicy(pages_per_day=2)
    made = await callers.create("ci", EVERYDAY_SCOPES, policy)
    await callers.spend_page(made.token.id, policy)
    for jump in (-HOUR, HOUR):
        clock.move_on(jump)
    await callers.spend_page(made.token.id, policy)
    for jump in (timedelta(), -HOUR, 2 * HOUR):
        clock.move_on(jump)
        with pytest.raises(RateLimited):
            await callers.spend_page(made.token.id, policy)


async def test_a_schedule_is_started_once_for_each_of_its_times(store: Store, clock: Clock) -> None:
    keys: list[str] = []

    async def start(_owner: str, _kind: JobKind, _spec: dict[str, Json], key: str) -> None:
        keys.append(key)

    schedules = Schedules(store.ledger, start, clock=clock)
    await schedules.add("me", "news", "30 * * * *", JobKind.CRAWL, {"url": "https://site.test"})
    for jump in (HOUR, -HOUR, HOUR, timedelta(minutes=45), -HOUR, HOUR):
        clock.move_on(jump)
        await schedules.start_due()
    assert len(keys) == 2
    assert len(set(keys)) == 2


def test_nothing_lasts_by_the_time_of_day() -> None:
    root = Path(cinder.__file__).parent
    by_time_of_day = re.compile(r"\btime\.time\b|\bMemoryStorage\b")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if by_time_of_day.search(path.read_text())
    }
    assert found == _BY_TIME_OF_DAY
