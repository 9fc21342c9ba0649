"""tests.mcp.test_request_context"""

import asyncio

import pytest

from cinder.mcp.request_context import CALL_SECONDS, SCRAPE_TIMEOUT_MS, bound_timeout
from cinder.models.request import ScrapeRequest
from tests.mcp.conftest import Connect
from tests.site import Site


@pytest.mark.parametrize(
    ("asked", "given"), [(1_000, 1_000), (60_000, SCRAPE_TIMEOUT_MS), (300_000, SCRAPE_TIMEOUT_MS)]
)
def test_longer_timeouts_than_clients_wait_are_shortened(asked: int, given: int) -> None:
    request = ScrapeRequest(url="https://example.com/", timeout_ms=asked)
    assert bound_timeout(request).timeout_ms == given


def test_a_call_ends_before_clients_give_up() -> None:
    assert SCRAPE_TIMEOUT_MS / 1000 < CALL_SECONDS < 55


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_who_waits_for_a_page_is_told_the_time(connect: Connect, site: Site) -> None:
    told: list[tuple[float, float | None, str | None]] = []
    is_told = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        is_told.set()

    async with connect() as client, asyncio.TaskGroup() as tasks:
        slow = {"url": site.url("/silent")}
        calling = tasks.create_task(client.call_tool("scrape", slow, progress_callback=note))
        async with asyncio.timeout(60):
            await is_told.wait()
        site.release()
        result = await calling
    assert not result.is_error
    progress, total, message = told[0]
    assert 0 < progress < CALL_SECONDS == total
    assert (message or "").startswith("At it for")
