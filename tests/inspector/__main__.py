"""Runs the MCP inspector over stdio and HTTP, in both protocol eras; exits 1 on any failure."""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tests.api.running import run_server
from tests.site import Site, serve_site

MODULES = Path(__file__).parent / "node_modules"
NODE = MODULES / ".bin" / "node"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ERAS = ("legacy", "modern")


def requests(site: Site) -> Iterator[tuple[str, ...]]:
    """What to ask of the server: every list, and every tool."""
    yield "tools/list", "--strict"
    calls: dict[str, dict[str, Any]] = {
        "scrape": {"url": site.url("/article")},
        "cinder_scrape": {"url": site.url("/article")},
        "cinder_search": {"query": "ember care"},
        "cinder_search_and_scrape": {"query": "ember care"},
        "cinder_extract": {"urls": [site.url("/article")], "prompt": "author and date"},
        "scrape_extract_content": {"html": "<h1>Hello</h1><p>World</p>"},
        "scrape_text_similarity": {"text_a": "the quick brown fox", "text_b": "the quick red fox"},
    }
    for tool, arguments in calls.items():
        yield calling(tool, arguments)
    yield ("resources/list",)
    yield ("resources/templates/list",)


def calling(tool: str, arguments: dict[str, Any]) -> tuple[str, ...]:
    return "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)


async def inspect_crawl(target: list[str], era: str, site: Site) -> list[bool]:
    """Start a crawl and look at it."""
    start = calling("cinder_crawl", {"url": site.url("/article"), "maxDepth": 1})
    is_fine, output = await ask(target, era, start)
    found = re.search(r"crawl-[0-9a-f]{24}", output)
    status = calling("cinder_get_crawl_status", {"id": found[0] if found else ""})
    return [is_fine, await inspect(target, era, status)]


async def inspect(target: list[str], era: str, request: tuple[str, ...]) -> bool:
    """Ask the server through the inspector; print and return whether it was content."""
    is_fine, _ = await ask(target, era, request)
    return is_fine


async def ask(target: list[str], era: str, request: tuple[str, ...]) -> tuple[bool, str]:
    """Ask the server through the inspector; return whether it was content, and what it printed."""
    method, *options = request
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        str(INSPECTOR),
        "--cli",
        *target,
        "--protocol-era",
        era,
        "--method",
        method,
        *options,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    is_fine = process.returncode == 0
    print(
        f"{'ok  ' if is_fine else 'FAIL'}  {era:<7} {target[-1][:20]:<20} {' '.join(request)[:70]}"
    )
    if not is_fine:
        print(output.decode())
    return is_fine, output.decode()


async def main() -> bool:
    with serve_site() as site, tempfile.TemporaryDirectory() as folder:
        variables = {
            "CINDER_EGRESS__ALLOW": site.address,
            "CINDER_SERVER__MCP_TOOLSETS": "all",
        }
        data = {"CINDER_DATA_DIR": str(Path(folder) / "stdio"), **variables}
        # The inspector hands a server none of its own environment.
        set_variables = [part for name, value in data.items() for part in ("-e", f"{name}={value}")]
        stdio = [*set_variables, sys.executable, "-m", "cinder", "mcp"]
        async with run_server(Path(folder) / "http", **variables) as server:
            token = f"Authorization: Bearer {server.token}"
            over_http = ["--header", token, "--transport", "http", f"{server.url}/mcp"]
            results = []
            for target, era in product((stdio, over_http), ERAS):
                results += [await inspect(target, era, request) for request in requests(site)]
                results += await inspect_crawl(target, era, site)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return all(results)


os.chdir(Path(__file__).parent)
sys.exit(0 if asyncio.run(main()) else 1)
