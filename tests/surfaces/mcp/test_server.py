import pytest
from mcp.client import Client

from cinder.app import App
from cinder.surfaces.mcp.server import build_server
from tests.site import Site
from tests.surfaces.mcp.conftest import Call, Connect, Era
from tests.surfaces.mcp.reading import error_of, text_of

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
TOOLS = [
    *("scrape", "cinder_scrape", "cinder_search", "cinder_search_and_scrape"),
    *("cinder_crawl", "cinder_get_crawl_status"),
    *("cinder_extract", "scrape_extract_content", "scrape_text_similarity"),
]


def count_of(app: App, command: str, outcome: str) -> float:
    labels = {"surface": "mcp", "command": command, "outcome": outcome}
    return app.metrics.registry.get_sample_value("cinder_scrape_requests_total", labels) or 0


@ERAS
async def test_both_eras_see_the_same_tools(connect: Connect) -> None:
    async with connect() as client:
        listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS


@pytest.mark.parametrize(("era", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_each_era_negotiates_its_revision(app: App, era: Era, revision: str) -> None:
    async with Client(build_server(app), mode=era) as client:
        assert client.protocol_version == revision
        assert client.server_info is not None
        assert client.server_info.name == "cinder"


@ERAS
async def test_both_eras_can_scrape(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/article"))
    assert not result.is_error
    assert "Rake the ash aside" in text_of(result)


@ERAS
async def test_unknown_tool_is_answered_with_those_that_exist(call: Call, app: App) -> None:
    text = error_of(await call("fetch_page", url="https://example.com"))
    assert all(name in text for name in TOOLS)
    assert count_of(app, "unknown", "VALIDATION_ERROR") == 1


async def test_calls_are_counted_by_tool_and_outcome(call: Call, app: App, site: Site) -> None:
    await call("scrape", url=site.url("/article"))
    await call("scrape", url="")
    await call("scrape", command="status", jobId="1")
    assert count_of(app, "scrape", "ok") == 1
    assert count_of(app, "scrape", "VALIDATION_ERROR") == 1
    assert count_of(app, "status", "BATCH_NOT_FOUND") == 1
