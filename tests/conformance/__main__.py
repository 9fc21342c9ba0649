"""Runs the conformance suite against `cinder serve`, and with the suite's fixtures in it.

Exits 1 where a scenario fails that the baseline does not name, or where one passes that it does.
"""

import asyncio
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.server.asgi import create_app
from tests.api.running import run_server
from tests.conformance.fixture_server import build_with_fixtures

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
NODE = MODULES / ".bin" / "node"
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
SETS = {"2025": ("--suite", "active"), "2026": ("--requirements", "2026-07-28")}


class TellingServer(uvicorn.Server):
    """Tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_listening.set()


@asynccontextmanager
async def serve_fixtures(folder: Path) -> AsyncIterator[str]:
    """Serve cinder with the fixtures; yield its URL."""
    settings = read_settings(data_dir=folder, server={"port": 0, "auth": "off"})
    api = create_app(settings, open_app(settings), build_with_fixtures)
    server = TellingServer(uvicorn.Config(api, port=0, log_config=None, lifespan="on"))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        async with asyncio.timeout(60):
            await server.is_listening.wait()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True


async def run_suite(url: str, name: str, options: tuple[str, ...], baseline: Path) -> bool:
    """Run one set of scenarios; print the outcome, and all of it where it is not as expected."""
    with tempfile.TemporaryDirectory() as results:
        process = await asyncio.create_subprocess_exec(
            *(str(NODE), str(SUITE), "server", "--url", f"{url}/mcp", *options),
            *("--expected-failures", str(baseline), "-o", results),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=HERE,
        )
        output = (await process.communicate())[0].decode()
    is_fine = process.returncode == 0
    # It counts checks, also those of extensions and of pending scenarios, which are not scored.
    total = next((line for line in output.splitlines() if line.startswith("Total: ")), "")
    print(f"{'ok  ' if is_fine else 'FAIL'}  {name:<20} {total}")
    if not is_fine:
        print(output)
    return is_fine


async def main() -> bool:
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with run_server(folder / "plain", CINDER_SERVER__AUTH="off") as server:
            for era, options in SETS.items():
                baseline = HERE / f"baseline-{era}.yml"
                results.append(await run_suite(server.url, f"plain, {era}", options, baseline))
        async with serve_fixtures(folder / "fixtures") as url:
            for era, options in SETS.items():
                baseline = HERE / "baseline-empty.yml"
                results.append(await run_suite(url, f"with fixtures, {era}", options, baseline))
    if is_fine := all(results):
        print("No scored check failed that the baselines do not name.")
    return is_fine


sys.exit(0 if asyncio.run(main()) else 1)
