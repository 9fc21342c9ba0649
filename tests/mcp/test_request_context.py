"""The context of a request: timeouts, progress reports and log messages."""

import asyncio

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPDeprecationWarning

from cinder.app.composition import App
from cinder.mcp.request_context import CALL_SECONDS, SCRAPE_TIMEOUT_MS, bound_timeout
from cinder.mcp.server import build_server
from cinder.models.request import ScrapeRequest
from tests.mcp.conftest import Connect, Era
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
    assert (message or "").startswith("Running for")


# What the older era has, the newer one's SDK warns of.
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__qualname__}"
)


async def call_twice(app: App, era: Era, level: types.LoggingLevel | None) -> list[tuple[str, str]]:
    """Make a call that works and one that fails; return the levels and words of what was told."""
    told: list[tuple[str, str]] = []

    async def note(params: types.LoggingMessageNotificationParams) -> None:
        told.append((params.level, params.data))

    async with Client(
        build_server(app), mode=era, logging_callback=note, log_level=level
    ) as client:
        if era == "legacy" and level is not None:
            await client.set_logging_level(level)
        await client.call_tool("scrape_text_similarity", {"text_a": "a", "text_b": "b"})
        await client.call_tool("scrape_text_similarity", {"text_a": "a"})
    return told


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_who_asks_for_messages_gets_those_of_the_level(app: App, era: Era) -> None:
    works = ("info", "scrape_text_similarity: ok")
    fails = ("warning", "scrape_text_similarity: VALIDATION_ERROR")
    assert await call_twice(app, era, None) == []
    assert await call_twice(app, era, "info") == [works, fails]
    assert await call_twice(app, era, "warning") == [fails]
