"""openai-agents: the tools as functions that a model is held to strictly."""

import asyncio
from typing import Any

from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from agents.mcp.util import MCPUtil

from tests.clients.task import TOOL, Report, Task, print_report, read_task


async def main(task: Task) -> None:
    async with connect(task) as server:
        tools = await server.list_tools()
        functions = [
            MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True) for tool in tools
        ]
        schema = next(each.params_json_schema for each in functions if each.name == TOOL)
        result = await server.call_tool(TOOL, give_everything(schema) | {"url": task.page})
    print_report(
        Report(
            revision="",
            tools=[function.name for function in functions],
            text=result.model_dump_json(include={"content"}),
            strict_tools=[each.name for each in functions if each.strict_json_schema],
        )
    )


def give_everything(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a model must send at least that is held to a schema: nothing, but of all."""
    if schema["required"] != list(schema["properties"]):
        raise ValueError(f"This is not strict: {schema}")
    return {name: nothing(node) for name, node in schema["properties"].items()}


def nothing(node: dict[str, Any]) -> Any:
    if "default" in node:
        return node["default"]
    if choices := node.get("enum"):
        return choices[0]
    if node["type"] == "object":
        return give_everything(node)
    if node["type"] == "boolean":
        return False
    return {"string": "", "integer": 0, "number": 0, "array": []}[node["type"]]


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
