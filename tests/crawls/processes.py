"""Processes that work on jobs, for a test to start, kill, freeze and wake."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.crawled_site import CrawledSite

# Short, so that nobody waits long for what a killed process had claimed.
LEASE_SECONDS = 4.0
HOST_CONCURRENCY = 4
_READY_SECONDS = 60
_ROOT = Path(__file__).parents[2]
_ORPHANS_SECONDS = 30


def worker_settings(
    site: CrawledSite, folder: Path, store_url: str, **jobs: object
) -> dict[str, Any]:  # Any: whatever the settings take
    """Return the settings of processes that crawl a site, each as small as may be."""
    return {
        "data_dir": str(folder),
        "store": {"url": store_url, "pool_size": 4},
        "egress": {"allow": [site.address]},
        "scrape": {"extract_workers": 1, "pdf_workers": 1, "retry_wait_seconds": 0.05},
        "jobs": {
            "lease_seconds": LEASE_SECONDS,
            "host_concurrency": HOST_CONCURRENCY,
            "extract_workers": 1,
            **jobs,
        },
    }


@dataclass(slots=True)
class Crew:
    """The processes at work on one database."""

    settings: dict[str, Any]  # Any: as above
    log: Path
    hiring: asyncio.TaskGroup
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    """Those at work."""
    started: list[asyncio.subprocess.Process] = field(default_factory=list)
    orphans: list[psutil.Process] = field(default_factory=list)
    late_requests: int = 0
    """What one that was frozen may send as it wakes: bytes on their way cannot be called back."""

    async def hire(self) -> asyncio.subprocess.Process:
        """Start one more process; return when it is at work."""
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.crawls.worker", json.dumps(self.settings)),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=_ROOT,
            )
        self.started.append(process)
        assert process.stdout is not None
        async with asyncio.timeout(_READY_SECONDS):
            said = await process.stdout.readline()
        assert said == b"ready\n", self.log.read_text()[-5_000:]
        self.processes.append(process)
        return process

    async def kill(self, process: asyncio.subprocess.Process) -> None:
        """End a process without a chance to tidy up, and have another begin in its place."""
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        await process.wait()
        self.processes.remove(process)
        self.orphans += children
        self.hiring.create_task(self.hire())

    def left_behind(self) -> list[str]:
        """Return the processes that outlive, for more than a moment, those that had them."""
        _, alive = psutil.wait_procs(self.orphans, timeout=_ORPHANS_SECONDS)
        return [f"process {orphan.pid} was left behind" for orphan in alive]

    def has_stood_still(self) -> bool:
        """Whether a busy machine kept a process from its work for longer than its leases last."""
        log = self.log.read_text()
        return "for longer than its leases last" in log or "lease was lost" in log

    async def is_at_work(self) -> bool:
        """Whether there is anyone."""
        return bool(self.processes)

    @property
    def all_alive(self) -> bool:
        """Whether none has ended by itself."""
        return all(process.returncode is None for process in self.processes)


@asynccontextmanager
async def run_crew(settings: dict[str, Any], log: Path, count: int) -> AsyncIterator[Crew]:
    """Have so many processes work until the exit."""
    hiring = asyncio.TaskGroup()
    crew = Crew(settings, log, hiring)
    try:
        async with hiring:
            await asyncio.gather(*(crew.hire() for _ in range(count)))
            yield crew
    finally:
        for process in crew.started:
            if process.returncode is None:
                # One that is frozen hears nothing else.
                process.kill()
                await process.wait()
