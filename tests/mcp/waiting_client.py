"""A client in a process of its own, for a test to kill: it starts a crawl and waits for its end.

Told where the server is as JSON on the command line, it prints the crawl's id before it waits.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.conftest import Era


@dataclass(frozen=True, slots=True)
class Errand:
    """A page to crawl from, and a server, over HTTP or as a command to start."""

    page: str
    era: Era
    url: str = ""
    token: str = ""
    variables: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def running_errand(errand: Errand) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run a client until the exit; return its process and the id of its crawl."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.mcp.waiting_client", json.dumps(asdict(errand))),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            yield process, (await process.stdout.readline()).decode().strip()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def main(errand: Errand) -> None:
    async with connected(errand) as client:
        crawl = await client.call_tool("cinder_crawl", {"url": errand.page})
        crawl_id = (crawl.structured_content or {})["crawlId"]
        sys.stdout.write(f"{crawl_id}\n")
        sys.stdout.flush()
        await client.call_tool("cinder_get_crawl_status", {"id": crawl_id, "waitSeconds": 50})


@asynccontextmanager
async def connected(errand: Errand) -> AsyncIterator[Client]:
    if not errand.url:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "cinder", "mcp"], env=errand.variables
        )
        async with Client(command, mode=errand.era) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {errand.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(errand.url, http_client=http), mode=errand.era) as client,
    ):
        yield client


if __name__ == "__main__":
    asyncio.run(main(Errand(**json.loads(sys.argv[1]))))
