"""A caller who goes away, over a real connection."""

import asyncio
import json
from pathlib import Path

from tests.site import Site
from tests.surfaces.running import run_server


async def test_a_caller_who_leaves_frees_the_place_for_another(tmp_path: Path, site: Site) -> None:
    variables = {"CINDER_EGRESS__ALLOW": site.address, "CINDER_SCRAPE__MAX_CONCURRENCY": "1"}
    async with run_server(tmp_path / "data", **variables) as server:
        body = json.dumps({"url": site.url("/silent"), "timeout": 120_000}).encode()
        head = (
            f"POST /api/v2/scrape HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        host, port = server.url.removeprefix("http://").split(":")
        _, leaving = await asyncio.open_connection(host, int(port))
        leaving.write(head.encode() + body)
        await site.asked("/silent")
        leaving.close()
        async with server.client() as client, asyncio.timeout(60):
            answer = await client.post("/v1/scrape", json={"url": site.url("/article")})
        assert answer.json()["title"] == "Ember care"
