"""Counts the tokens of the tool lists of cinder and of other MCP servers, all over stdio.

A token is counted as four characters of compact JSON, output schemas included. The others are
asked for nothing but their lists, with keys that open nothing, and with every way out closed.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import Tool

FOLDER = Path(__file__).parent
MODULES = FOLDER / "node_modules"
NODE = str(MODULES / ".bin/node")
CHARS_PER_TOKEN = 4
BAR = 5_000
# Nobody listens there: what a server would ask of the web fails at once.
CLOSED = "http://127.0.0.1:9"
NO_WAY_OUT = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), CLOSED)


@dataclass(frozen=True, slots=True)
class Listed:
    """A server: what it is called, the command that starts it, and what it is told."""

    name: str
    command: Sequence[str]
    variables: Mapping[str, str]


def _peers() -> list[Listed]:
    key = "fc-0000"
    return [
        Listed("firecrawl-mcp", _node("firecrawl-mcp"), {"FIRECRAWL_API_KEY": key}),
        Listed("@playwright/mcp", _node("playwright-mcp"), {}),
        Listed("tavily-mcp", _node("tavily-mcp"), {"TAVILY_API_KEY": key}),
        Listed("mcp-server-fetch", [str(FOLDER / ".venv/bin/mcp-server-fetch")], {}),
    ]


def _node(program: str) -> list[str]:
    return [NODE, str((MODULES / ".bin" / program).resolve())]


def _cinder(folder: str, toolset: str) -> Listed:
    command = [sys.executable, "-m", "cinder", "mcp", "--toolsets", toolset]
    return Listed("cinder", command, {"CINDER_DATA_DIR": folder})


async def bench_tool_lists() -> None:
    print("tokens of the tool list (compact JSON / 4):")
    for name, toolset, bar in (
        ("cinder", "default", f" (bar {BAR:,})"),
        ("cinder, core tools", "core", ""),
    ):
        with tempfile.TemporaryDirectory() as folder:
            _print_count(name, await _list_tools(_cinder(folder, toolset)), bar)
    for server in _peers():
        _print_count(server.name, await _list_tools(server))


def _print_count(name: str, tools: Sequence[Tool], bar: str = "") -> None:
    schemas = sum(tool.output_schema is not None for tool in tools)
    print(
        f"  {name:<18} {count_tokens(tools):>6,} tokens{bar}, {len(tools)} tools, "
        f"{schemas} with an output schema"
    )


async def _list_tools(server: Listed) -> list[Tool]:
    command, *arguments = server.command
    environment = {"PATH": os.environ["PATH"], **NO_WAY_OUT, **server.variables}
    parameters = StdioServerParameters(command=command, args=arguments, env=environment)
    # Every server knows this era; some take long to turn down the other.
    async with Client(parameters, mode="legacy") as client:
        return (await client.list_tools()).tools


def count_tokens(tools: Sequence[Tool]) -> int:
    """Return how many tokens the tools take, as a client sees them listed."""
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in tools]
    compact = json.dumps(listed, separators=(",", ":"), ensure_ascii=False)
    return len(compact) // CHARS_PER_TOKEN
