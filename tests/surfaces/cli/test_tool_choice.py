"""The options of `cinder mcp` and `cinder serve` that choose the tools."""

import os
import sys
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.surfaces.cli.test_commands import Run, run

__all__ = ["run"]


async def test_options_choose_the_tools_of_a_server_over_stdio(tmp_path: Path) -> None:
    options = ["--toolsets", "text", "--tools", "scrape", "--read-only"]
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cinder", "mcp", *options],
        env={**os.environ, "CINDER_DATA_DIR": str(tmp_path)},
    )
    async with Client(started) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        *("scrape", "scrape_extract_content", "scrape_text_similarity"),
    ]
    actions = tools[0].input_schema["properties"]["actions"]["items"]["properties"]
    assert "click" not in actions["type"]["enum"]


@pytest.mark.parametrize("command", ["mcp", "serve"])
async def test_unknown_name_ends_the_start_with_the_nearest(run: Run, command: str) -> None:
    ended = await run(command, "--toolsets", "serch")
    assert ended.code == 2
    assert "There is no toolset 'serch'. Did you mean search?" in ended.err
    assert "Traceback" not in ended.err
