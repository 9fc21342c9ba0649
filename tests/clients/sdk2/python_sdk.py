"""The Python SDK, 2.x, in the era that the second argument names."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.clients.task import TOOL, Report, Task, print_report, read_task


async def main(task: Task, mode: str) -> None:
    async with connect(task, mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool(TOOL, {"url": task.page})
        revision = client.protocol_version
    text = result.model_dump_json(include={"content"})
    print_report(Report(revision, [tool.name for tool in tools.tools], text))


@asynccontextmanager
async def connect(task: Task, mode: str) -> AsyncIterator[Client]:
    if task.is_over_http:
        async with httpx2.AsyncClient(headers=task.headers, timeout=60) as http:
            transport = streamable_http_client(task.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client
    else:
        command, *arguments = task.command
        server = StdioServerParameters(command=command, args=arguments, env=task.variables)
        async with Client(server, mode=mode) as client:
            yield client


asyncio.run(main(read_task(), sys.argv[2]))
