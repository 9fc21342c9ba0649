"""Start-up: the CPU time of cinder's processes until they are of use, beside bare ones."""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.request import urlopen

from bench.runs import Goal, Table, report
from bench.website import run_website

ROUNDS = 7
DOCUMENT_BYTES = 30_000
MEMORY_BYTES = 1024 * 1024 * 1024

BARE_SERVER = """
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

_HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_TO_TOOL_LIST = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HANDSHAKE},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)

# Waits until a process is of use.
Until = Callable[[subprocess.Popen[bytes]], None]


def _until_exit(process: subprocess.Popen[bytes]) -> None:
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def _until_first_byte(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    process.stdout.read(1)


def _until_tool_list(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.writelines(json.dumps(message).encode() + b"\n" for message in _TO_TOOL_LIST)
    process.stdin.flush()
    while json.loads(process.stdout.readline()).get("id") != 2:
        pass


def _until_healthy(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    # `cinder 1.0 listens on http://127.0.0.1:8000`
    url = process.stdout.readline().split()[-1].decode()
    with urlopen(f"{url}/healthz") as answer:
        answer.read()


@dataclass(slots=True)
class Start:
    """A process to start, and when it is of use."""

    name: str
    arguments: Sequence[str]
    until: Until
    bare: "Start | None" = None
    """The process that its CPU time is a multiple of."""
    cpu_seconds: list[float] = field(default_factory=list)
    """Of the process and its children that ended."""
    seconds: list[float] = field(default_factory=list)

    def measure(self, environment: dict[str, str]) -> None:
        """Start it once, and end it when it is of use."""
        started = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as process:
            self.until(process)
            self.seconds.append(time.perf_counter() - started)
            # Not `process.kill()`, which reaps a process that has ended.
            os.kill(process.pid, signal.SIGKILL)
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
        self.cpu_seconds.append(used.ru_utime + used.ru_stime)

    def forget(self) -> None:
        """Drop what was measured."""
        self.cpu_seconds.clear()
        self.seconds.clear()

    def __str__(self) -> str:
        """Return the medians."""
        cpu_seconds, seconds = map(statistics.median, (self.cpu_seconds, self.seconds))
        return f"{self.name}: {cpu_seconds:.3f} CPU-s, {seconds:.2f} s"


async def bench_start_up() -> None:
    async with run_website(DOCUMENT_BYTES) as website:
        starts = _starts(f"http://{website.address}/1")
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                "CINDER_DATA_DIR": folder,
                "CINDER_EGRESS__ALLOW": website.address,
                "CINDER_SERVER__PORT": "0",
            }
            # The first round compiles modules, makes the database and saves the page.
            for start in starts:
                start.measure(environment)
                start.forget()
            for _ in range(ROUNDS):
                for start in starts:
                    start.measure(environment)
    rates = {start.name: 1 / statistics.median(start.cpu_seconds) for start in starts}
    goals = [Goal(start.name, start.bare.name) for start in starts if start.bare is not None]
    report(Table("start-up", "start-up", "starts a CPU second", rates, goals))
    for start in starts:
        print(f"  {start}")


def _starts(url: str) -> tuple[Start, ...]:
    python = Start("a bare Python", ("-c", "pass"), _until_exit)
    server = Start("a bare MCP server", ("-c", BARE_SERVER), _until_tool_list)
    limits = (str(MEMORY_BYTES), str(os.getpid()))
    parser = ("-I", "-X", "utf8", "-m", "cinder.sandbox", *limits)
    cinder = ("-m", "cinder")
    return (
        python,
        Start("a parser until it is ready", parser, _until_first_byte, python),
        Start("cinder --help", (*cinder, "--help"), _until_exit, python),
        Start("cinder scrape of a cached page", (*cinder, "scrape", url), _until_exit, python),
        server,
        Start("cinder mcp until it lists its tools", (*cinder, "mcp"), _until_tool_list, server),
        Start("cinder serve until it is healthy", (*cinder, "serve"), _until_healthy, server),
    )
