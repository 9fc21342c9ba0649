"""The Python SDK, 1.x."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.clients.task import TOOL, Report, Task, print_report, read_task


async def main(task: Task) -> None:
    async with connect(task) as streams, ClientSession(*streams) as session:
        begun = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool(TOOL, {"url": task.page})
    print_report(
        Report(
            revision=str(begun.protocolVersion),
            tools=[tool.name for tool in tools.tools],
            text=result.model_dump_json(include={"content"}),
        )
    )


@asynccontextmanager
async def connect(task: Task) -> AsyncIterator[tuple[Any, Any]]:  # Any: streams of the SDK
    if task.is_over_http:
        async with (
            httpx.AsyncClient(headers=task.headers, timeout=60) as http,
            streamable_http_client(task.url, http_client=http) as (reading, writing, _),
        ):
            yield reading, writing
    else:
        command, *arguments = task.command
        server = StdioServerParameters(command=command, args=arguments, env=task.variables)
        async with stdio_client(server) as (reading, writing):
            yield reading, writing


asyncio.run(main(read_task()))
