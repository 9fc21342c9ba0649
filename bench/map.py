"""The map of a large site: how long it takes a server, what it costs, and whether it is whole."""

import tempfile
import time
from pathlib import Path

from bench.cpu import exact_cpu_seconds
from tests.api.running import run_server
from tests.mapped_site import serve_mapped_site

PAGES = 50_000
PER_SITEMAP = 5_000
BAR_SECONDS, BAR_CPU_SECONDS = 5.0, 2.0
_SEARCH = "installing the window"


async def bench_map() -> None:
    """Print the figures of one map, and of one that is searched."""
    pages = [f"/docs/part-{n % 97}/how-to-{n}-things.html" for n in range(PAGES - 1)]
    pages.append("/docs/install-windows.html")
    with serve_mapped_site() as site, tempfile.TemporaryDirectory() as name:
        site.put_sitemaps(pages, PER_SITEMAP)
        site.put({"/": "<title>Docs</title><main><h1>Docs</h1><a href='/a'>A</a></main>"})
        site.put({"/robots.txt": "User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\n"})
        folder = Path(name) / "data"
        async with (
            run_server(folder, log=f"{folder}.log", CINDER_EGRESS__ALLOW=site.address) as server,
            server.client() as client,
        ):
            for search in (None, _SEARCH):
                cpu, began = exact_cpu_seconds(server.process.pid), time.perf_counter()
                body = {"url": site.url("/"), "limit": 100_000}
                body |= {} if search is None else {"search": search}
                answer = (await client.post("/v1/map", json=body)).json()
                seconds = time.perf_counter() - began
                cpu = exact_cpu_seconds(server.process.pid) - cpu
                found = [each["url"].removeprefix(site.base) for each in answer["urls"]]
                is_whole, is_first = found == ["/", "/a", *pages], found[:1] == pages[-1:]
                is_right = is_whole if search is None else is_first
                what = "listed" if search is None else f"searched for {search!r}"
                print(
                    f"map: {PAGES:,} URLs of {PAGES // PER_SITEMAP} sitemaps {what}: "
                    f"{seconds:.2f} s (bar {BAR_SECONDS:.0f}), {cpu:.2f} CPU-s "
                    f"(bar {BAR_CPU_SECONDS:.0f}), {'correct' if is_right else 'WRONG'}",
                    flush=True,
                )
