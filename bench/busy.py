"""Large pages on a busy machine: how many are given up or cut while other processes compete."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bench.serving import Resource, run_module, serve
from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from cinder.errors import CinderError
from cinder.models.request import CachePolicy, ScrapeRequest
from training.documentation import DOC_SITES

BUSY_PROCESSES = 16
LARGEST_PAGES = 40
# A crawl has as many requests under way.
CONCURRENCY = 4
_MAX_SECONDS = 3_600
_SPIN = f"import time\nend = time.monotonic() + {_MAX_SECONDS}\nwhile time.monotonic() < end: pass"


async def bench_busy(sample: int | None) -> None:
    """Print how many of the largest pages of each documentation site are not whole."""
    paths = {
        f"/{site.name}/{number}": path
        for site in DOC_SITES
        for number, path in enumerate(
            sorted(site.find_pages(), key=lambda path: path.stat().st_size)[
                -(sample or LARGEST_PAGES) :
            ]
        )
    }
    if not paths:
        print("busy: not measured, no documentation is installed: `make bench ONLY=docs` does it")
        return
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "pages"
        file.write_text("\n".join(f"{url} {path}" for url, path in paths.items()))
        async with run_module("bench.busy", str(file)) as website, _busy_processes():
            settings = read_settings(
                data_dir=Path(name) / "data", egress={"allow": [website.address]}
            )
            async with open_app(settings) as app:
                started = time.monotonic()
                slots = asyncio.Semaphore(CONCURRENCY)
                faults = await asyncio.gather(
                    *(_find_fault(app, f"http://{website.address}{url}", slots) for url in paths)
                )
                seconds, load = time.monotonic() - started, os.getloadavg()[0]
    found = [f"{url} ({fault})" for url, fault in zip(paths, faults, strict=True) if fault]
    print(
        f"busy: {len(found)} of the {len(paths)} largest pages of documentation are given up, cut "
        f"or refused beside {BUSY_PROCESSES} busy processes (bar 0), {CONCURRENCY} at a time in "
        f"{seconds:.0f} s; load {load:.1f}"
    )
    for fault in found:
        print(f"    {fault}")


async def _find_fault(app: App, url: str, slots: asyncio.Semaphore) -> str:
    async with slots:
        request = ScrapeRequest(url=url, cache=CachePolicy(force_rescrape=True))
        try:
            content = (await app.scrape.scrape(request)).document.content
        except CinderError as error:
            return f"{type(error).__name__}: {error}"
    is_whole = content.markdown and not (content.is_partial or content.is_out_of_time)
    return "" if is_whole else "; ".join(content.warnings) or "no text"


@asynccontextmanager
async def _busy_processes() -> AsyncIterator[None]:
    spinning = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", _SPIN)
        for _ in range(BUSY_PROCESSES)
    ]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            await process.wait()


async def _serve(pages: Mapping[str, Path]) -> None:
    async def resource_at(path: str) -> Resource:
        return Resource("text/html; charset=utf-8", pages[path].read_bytes())

    await serve(resource_at)


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text().splitlines()
    asyncio.run(_serve({url: Path(path) for url, path in (line.split(" ", 1) for line in lines)}))
