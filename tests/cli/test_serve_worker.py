"""`cinder worker`: it works on what others started, and stops when it is told to."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.cli.commands import Commands, finish, free_port
from tests.site import Site


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


async def ready(worker: asyncio.subprocess.Process) -> None:
    """Wait until a worker works."""
    assert worker.stdout is not None
    async with asyncio.timeout(60):
        assert (await worker.stdout.readline()).startswith(b"cinder worker: works on up to ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_told_stop_is_a_clean_one(commands: Commands, number: signal.Signals) -> None:
    async with commands.running("worker") as worker:
        await ready(worker)
        worker.send_signal(number)
        done = await finish(worker)
    assert (done.code, done.out) == (0, "cinder worker: stopped\n")
    assert "postgresql://" in done.err
    assert "Traceback" not in done.err


async def test_a_worker_takes_up_what_waits_and_gives_back_what_it_leaves(
    commands: Commands, site: Site
) -> None:
    crawl_id = (
        await commands.run("crawl", site.url("/silent"), "--max-depth", "1", "--detach")
    ).out.strip()
    async with commands.running("worker") as worker:
        await ready(worker)
        await site.asked("/silent")
        worker.terminate()
        done = await finish(worker)
    assert done.code == 0, done.err
    site.release()
    back = await commands.run("crawl", "--attach", crawl_id)
    assert back.out.startswith(f"{crawl_id} completed: 1 page fetched")


async def test_a_worker_that_cannot_open_its_database_says_so_in_one_line(
    commands: Commands,
) -> None:
    (commands.folder / "broken.db").write_bytes(b"not a database" * 100)
    store = f"sqlite:///{commands.folder / 'broken.db'}"
    done = await commands.run("worker", CINDER_STORE__URL=store)
    assert done.code == 1
    assert "CACHE_ERROR" in done.err
    assert "Traceback" not in done.err
