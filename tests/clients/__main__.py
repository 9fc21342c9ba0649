"""Runs every client over HTTP and stdio and prints how each fared; exits 1 on any failure."""

import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.api.running import run_server
from tests.clients.task import Report, Task, read_report, write_task
from tests.site import Site, serve_site

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
TYPESCRIPT = FOLDER / "typescript"
CLIENT_SECONDS = 120
SAID = "Cover the [coals]"


@dataclass(frozen=True, slots=True)
class Contender:
    """A client: what it is called and what runs it, before the task."""

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()


def python(name: str, environment: str, module: str, *options: str) -> Contender:
    interpreter = str(FOLDER / environment / ".venv/bin/python")
    return Contender(name, (interpreter, "-m", f"tests.clients.{environment}.{module}"), options)


def node(name: str, script: str, *options: str) -> Contender:
    return Contender(name, ("node", str(TYPESCRIPT / script)), options)


CONTENDERS = (
    python("Python SDK 1.x", "sdk1", "python_sdk"),
    python("Python SDK 2.x, sessions", "sdk2", "python_sdk", "legacy"),
    python("Python SDK 2.x", "sdk2", "python_sdk", "auto"),
    node("TypeScript SDK 1.x", "sdk.mjs"),
    node("TypeScript client 2.x, sessions", "client.mjs", "legacy"),
    node("TypeScript client 2.x", "client.mjs", "auto"),
    python("pydantic-ai", "sdk2", "pydantic_ai"),
    python("langchain-mcp-adapters", "sdk1", "langchain_adapters"),
    python("openai-agents, strict", "sdk2", "openai_agents"),
)


async def main() -> bool:
    with serve_site() as site, tempfile.TemporaryDirectory() as folder:
        variables = {"CINDER_EGRESS__ALLOW": site.address, "CINDER_SERVER__MCP_TOOLSETS": "all"}
        over_stdio = stdio_task(site, {"CINDER_DATA_DIR": str(Path(folder) / "stdio"), **variables})
        listed = await list_tools(over_stdio)
        print(f"cinder {version('cinder-web')} lists {len(listed)} tools")
        async with run_server(Path(folder) / "http", **variables) as server:
            over_http = Task(site.url("/article"), f"{server.url}/mcp", server.token)
            results = [
                await try_out(contender, task, listed)
                for contender in CONTENDERS
                for task in (over_http, over_stdio)
            ]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return all(results)


def stdio_task(site: Site, variables: dict[str, str]) -> Task:
    command = (sys.executable, "-m", "cinder", "mcp")
    return Task(site.url("/article"), command=command, variables=variables)


async def list_tools(task: Task) -> list[str]:
    """Return what cinder's own environment finds listed, as the others must."""
    command, *arguments = task.command
    server = StdioServerParameters(command=command, args=arguments, env=task.variables)
    async with Client(server) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def try_out(contender: Contender, task: Task, listed: list[str]) -> bool:
    """Run a client; print and return whether it did what it was asked to."""
    transport = "http" if task.is_over_http else "stdio"
    code, output, errors = await run(contender, task)
    report = read_report(output) if code == 0 else None
    problem = judge(report, listed) if report else f"it ended with {code}:\n{errors}"
    revision = report.revision if report else ""
    mark = "FAIL" if problem else "ok  "
    print(f"{mark}  {contender.name:<32} {transport:<5} {revision:<10} {problem}".rstrip())
    return not problem


async def run(contender: Contender, task: Task) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(*contender.command, write_task(task), *contender.options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        # Nothing but the loopback server is to be spoken to, and nothing told to anybody.
        env={**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1", "NO_PROXY": "127.0.0.1"},
    )
    try:
        async with asyncio.timeout(CLIENT_SECONDS):
            output, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return None, "", f"it took over {CLIENT_SECONDS} s"
    return process.returncode, output.decode(), errors.decode()


def judge(report: Report, listed: list[str]) -> str:
    """Return what is wrong with a report; nothing where all is right."""
    if list(report.tools) != listed:
        return f"it lists {', '.join(report.tools)}"
    if SAID not in report.text:
        return f"it scraped: {report.text[:200]!r}"
    if report.strict_tools is not None and list(report.strict_tools) != listed:
        return f"strict are only {', '.join(report.strict_tools)}"
    return ""


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main()) else 1)
