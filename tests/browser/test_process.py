"""A browser's processes: started, measured, and killed completely."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cinder.browser.cdp import ConnectionClosed
from cinder.browser.chromium import BrowserFinder, CommandLine
from cinder.browser.process import BrowserProcess, start_process
from tests.browser.processes import descendants, open_files, processes_of, until


@asynccontextmanager
async def a_browser(profile: Path, *, full: bool = False) -> AsyncIterator[BrowserProcess]:
    finder, line = BrowserFinder(home=Path.home()), CommandLine(no_sandbox=True)
    proxy_url = "http://127.0.0.1:1"
    process = await start_process(
        (finder.find_full() if full else finder.find_headless()).path,
        line.master(profile=profile, proxy_url=proxy_url)
        if full
        else line.headless(profile=profile, proxy_url=proxy_url, is_shell=True),
        environment={"HOME": str(profile)},
        log=profile / "log",
    )
    try:
        await process.connection.browser.send("Browser.getVersion")
        yield process
    finally:
        await process.kill_all()
        process.connection.close()
        assert await process.wait_ended(30)


@pytest.mark.parametrize("full", [False, True])
async def test_a_browser_that_was_ended_leaves_no_process_and_no_open_file(
    tmp_path: Path, full: bool
) -> None:
    processes, files = descendants(), open_files()
    async with a_browser(tmp_path, full=full) as process:
        assert process.pid in descendants() - processes
    assert descendants() <= processes
    await until(lambda: open_files() <= files)
    assert processes_of(process.pid) == []


async def test_a_browser_ends_by_itself_when_its_pipe_is_closed(tmp_path: Path) -> None:
    async with a_browser(tmp_path) as process:
        process.connection.close()
        assert await process.wait_ended(30)


async def test_the_end_of_the_main_process_is_the_end_of_the_connection(tmp_path: Path) -> None:
    async with a_browser(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        await asyncio.wait_for(process.connection.closed, 30)
        with pytest.raises(ConnectionClosed):
            await process.connection.browser.send("Browser.getVersion")


async def test_a_browser_that_does_not_end_is_told_of(tmp_path: Path) -> None:
    async with a_browser(tmp_path) as process:
        assert not await process.wait_ended(0.05)


async def test_the_memory_of_all_processes_is_counted_without_what_they_share(
    tmp_path: Path,
) -> None:
    async with a_browser(tmp_path) as process:
        own = await process.private_bytes()
        resident = sum(p.memory_info().rss for p in processes_of(process.pid))
    assert 10 << 20 < own < resident


async def test_what_cannot_be_started_leaves_no_open_file(tmp_path: Path) -> None:
    files = open_files()
    with pytest.raises(OSError, match="No such file"):
        await start_process(tmp_path / "nothing", [], environment={}, log=tmp_path / "log")
    with pytest.raises(OSError, match="No such file"):
        await start_process(
            Path("/bin/true"), [], environment={}, log=tmp_path / "no folder" / "log"
        )
    assert open_files() == files


async def test_a_start_that_is_cut_off_leaves_no_process_and_no_open_file(tmp_path: Path) -> None:
    processes, files = descendants(), open_files()
    starting = start_process(Path("/bin/sleep"), ["1000"], environment={}, log=tmp_path / "log")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(starting)
        await asyncio.sleep(0)  # it has begun, and waits for the pipe
        task.cancel()
    assert task.cancelled()
    await until(lambda: open_files() <= files)
    assert descendants() <= processes


@pytest.mark.skipif(sys.platform != "linux", reason="other systems set priorities otherwise")
async def test_no_thread_of_a_browser_runs_before_the_server(tmp_path: Path) -> None:
    async with a_browser(tmp_path) as process:
        await process.connection.browser.send("Target.createTarget", url="about:blank")
        threads = [t.id for p in processes_of(process.pid) for t in p.threads()]
        priorities = {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}
    assert threads
    assert min(priorities) >= 5
