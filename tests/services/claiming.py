"""A process that claims every event of a store, says so, and waits to be killed."""

import asyncio
import sys
from pathlib import Path

from cinder.store import open_store
from tests.store.samples import Clock


async def main(url: str) -> None:
    async with open_store(url, pool_size=1, observe=lambda _n, _s: None, clock=Clock()) as store:
        claimed = await store.outbox.claim(100, per_url=100, but=(), seconds=60)
        sys.stdout.write(f"{len(claimed)}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def claim_and_be_killed(url: str) -> int:
    """Run such a process, and kill it when it has claimed; return how many events it had."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.services.claiming", url),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    try:
        return int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
