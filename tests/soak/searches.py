"""Pages saved by the thousand while fifty searches a second run."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.store.conftest import open_at
from tests.store.index.searching import Outcome, save_while_searching
from tests.store.postgres import run_postgres
from tests.store.samples import Clock

SEARCHES_PER_SECOND = 50


def soak_searches(pages: int, say: Callable[[str], None]) -> list[str]:
    """Save pages in either database while others search; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder, run_postgres() as server:
        urls = {
            "SQLite": f"sqlite:///{Path(folder) / 'cinder.db'}",
            "PostgreSQL": server.create_database(),
        }
        problems = []
        for name, url in urls.items():
            started = time.monotonic()
            outcome = asyncio.run(_save(url, pages))
            seconds = time.monotonic() - started
            say(f"{name}: {pages} pages saved beside {outcome.searches} searches, {seconds:.0f} s")
            problems += [f"{name}: {problem}" for problem in outcome.problems]
        return problems


async def _save(url: str, pages: int) -> Outcome:
    async with open_at(url, Clock()) as store:
        return await save_while_searching(
            store, pages=pages, searches_per_second=SEARCHES_PER_SECOND
        )
