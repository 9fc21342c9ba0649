"""A page with hidden characters, read over every surface."""

import json
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client

from cinder.app.composition import App
from cinder.mcp.server import build_server
from tests.cli.commands import Commands, free_port
from tests.mcp.reading import text_of
from tests.site import Site

TOLD = "4 tag characters, 1 bidi overrides"


@pytest.mark.parametrize("path", ["/api/v2/scrape", "/v1/scrape"])
async def test_rest_tells_of_them(client: httpx2.AsyncClient, site: Site, path: str) -> None:
    answer = await client.post(path, json={"url": site.url("/tricky")})
    assert TOLD in json.dumps(answer.json())


@pytest.mark.parametrize("tool", ["scrape", "cinder_scrape"])
async def test_mcp_tells_of_them(app: App, site: Site, tool: str) -> None:
    async with Client(build_server(app)) as mcp:
        result = await mcp.call_tool(tool, {"url": site.url("/tricky")})
    assert TOLD in text_of(result)
    assert TOLD in result.structured_content["warning"]


async def test_the_command_line_tells_of_them(tmp_path: Path, site: Site) -> None:
    done = await Commands(tmp_path, site.address, free_port()).run("scrape", site.url("/tricky"))
    assert done.code == 0, done.err
    assert TOLD in done.err
