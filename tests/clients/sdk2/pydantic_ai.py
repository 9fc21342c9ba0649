"""pydantic-ai: the tools as a toolset."""

import asyncio
import json

from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport
from pydantic_ai.mcp import MCPToolset

from tests.clients.task import TOOL, Report, Task, print_report, read_task


async def main(task: Task) -> None:
    async with MCPToolset(connect(task), init_timeout=60) as toolset:
        tools = await toolset.list_tools()
        result = await toolset.direct_call_tool(TOOL, {"url": task.page})
    # It hands on the structured content alone, where there is any.
    text = json.dumps(result)
    print_report(Report(revision="", tools=[tool.name for tool in tools], text=text))


def connect(task: Task) -> ClientTransport:
    if task.is_over_http:
        return StreamableHttpTransport(task.url, headers=task.headers)
    command, *arguments = task.command
    return StdioTransport(command, arguments, env=task.variables)


asyncio.run(main(read_task()))
