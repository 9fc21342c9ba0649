"""openai-agents: the tools as functions that a model is held to strictly."""

import asyncio

from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from agents.mcp.util import MCPUtil

from tests.clients.task import TOOL, Report, Task, print_report, read_task


async def main(task: Task) -> None:
    async with connect(task) as server:
        tools = await server.list_tools()
        functions = [
            MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True) for tool in tools
        ]
        result = await server.call_tool(TOOL, {"url": task.page})
    print_report(
        Report(
            revision="",
            tools=[function.name for function in functions],
            text=result.model_dump_json(include={"content"}),
            strict_tools=[each.name for each in functions if each.strict_json_schema],
        )
    )


def connect(task: Task) -> MCPServer:
    if task.is_over_http:
        return MCPServerStreamableHttp(
            {"url": task.url, "headers": task.headers}, client_session_timeout_seconds=60
        )
    command, *arguments = task.command
    return MCPServerStdio(
        {"command": command, "args": arguments, "env": task.variables},
        client_session_timeout_seconds=60,
    )


asyncio.run(main(read_task()))
