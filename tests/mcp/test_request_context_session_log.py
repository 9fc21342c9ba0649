"""tests.mcp.test_request_context_session_log"""

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPDeprecationWarning

from cinder.app import App
from cinder.mcp.server import build_server
from tests.mcp.conftest import Era

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
