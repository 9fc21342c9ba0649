"""Start-up: from starting `cinder mcp` to its first answer, beside a bare MCP server's."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

ROUNDS = 5
BAR_SECONDS = 2

BARE = """
import asyncio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult

async def tools(context, params):
    return ListToolsResult(tools=[])

async def main():
    server = Server("bare", on_list_tools=tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

asyncio.run(main())
"""


async def bench_start_up() -> None:
    with tempfile.TemporaryDirectory() as folder:
        variables = {"CINDER_DATA_DIR": str(Path(folder) / "data")}
        first = await _time_to_tools(["-m", "cinder", "mcp"], variables)
        rounds = [
            (
                await _time_to_tools(["-m", "cinder", "mcp"], variables),
                await _time_to_tools(["-c", BARE], variables),
            )
            for _ in range(ROUNDS)
        ]
    cinder, bare = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(
        f"cinder mcp to its first answer: {cinder:.2f} s (bar {BAR_SECONDS}; "
        f"{first:.2f} s when it makes its database), bare MCP server {bare:.2f} s, "
        f"ratio {cinder / bare:.1f}"
    )


async def _time_to_tools(arguments: list[str], variables: dict[str, str]) -> float:
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=variables)
    started = time.perf_counter()
    async with Client(parameters) as client:
        await client.list_tools()
        return time.perf_counter() - started
