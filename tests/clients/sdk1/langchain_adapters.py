"""langchain-mcp-adapters: the tools as LangChain's."""

import asyncio
import json
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient

from tests.clients.task import TOOL, Report, Task, print_report, read_task


async def main(task: Task) -> None:
    client = MultiServerMCPClient({"cinder": connection(task)})
    tools = {tool.name: tool for tool in await client.get_tools()}
    # Blocks of content, as a model gets them.
    blocks = await tools[TOOL].ainvoke({"url": task.page})
    print_report(Report(revision="", tools=list(tools), text=json.dumps(blocks)))


def connection(task: Task) -> dict[str, Any]:  # Any: a typed dictionary of the adapters
    if task.is_over_http:
        return {"transport": "streamable_http", "url": task.url, "headers": task.headers}
    command, *arguments = task.command
    return {"transport": "stdio", "command": command, "args": arguments, "env": task.variables}


asyncio.run(main(read_task()))
