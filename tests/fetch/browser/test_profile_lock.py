"""The lock on a person's profile."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cinder.errors import BrowserUnavailable, ProfileLocked
from cinder.fetch.browser.profile_lock import CHROMIUM_LOCK_NAME, LOCK_NAME, ProfileLock

HOLD = """
import asyncio, sys
from pathlib import Path
from cinder.fetch.browser.profile_lock import ProfileLock

async def main():
    async with ProfileLock(Path(sys.argv[1]), timeout_seconds=5).hold():
        print("held", flush=True)
        sys.stdin.read()

asyncio.run(main())
"""


def hold_elsewhere(profile: Path) -> "subprocess.Popen[str]":
    """Hold the lock in another process until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(profile)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


async def test_another_process_waits_its_time_and_is_told_who_has_it(tmp_path: Path) -> None:
    with hold_elsewhere(tmp_path) as holder:
        with pytest.raises(ProfileLocked, match=f"in use by process {holder.pid}"):
            async with ProfileLock(tmp_path, timeout_seconds=0.2).hold():
                pass
        holder.communicate()
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        assert (tmp_path / LOCK_NAME).read_text() == str(os.getpid())


async def test_who_waits_long_enough_gets_it(tmp_path: Path) -> None:
    async def wait_for_it() -> str:
        async with ProfileLock(tmp_path, timeout_seconds=10).hold():
            return "held"

    with hold_elsewhere(tmp_path) as holder:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(wait_for_it())
            await asyncio.sleep(0)  # it has found the lock taken
            assert not waiting.done()
            await asyncio.to_thread(holder.communicate)
    assert waiting.result() == "held"


async def test_a_killed_holder_holds_no_more(tmp_path: Path) -> None:
    with hold_elsewhere(tmp_path) as holder:
        holder.kill()
        holder.wait()
        async with ProfileLock(tmp_path, timeout_seconds=0).hold():
            pass


async def test_two_holders_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        with pytest.raises(ProfileLocked):
            async with ProfileLock(tmp_path, timeout_seconds=0).hold():
                pass


async def test_a_wait_that_is_cut_off_leaves_the_lock_to_others(tmp_path: Path) -> None:
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        with pytest.raises(TimeoutError):
            async with (
                asyncio.timeout(0.05),
                ProfileLock(tmp_path, timeout_seconds=10).hold(),
            ):
                pass
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        pass


async def test_a_holder_that_wrote_nothing_readable_is_another_process(tmp_path: Path) -> None:
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        (tmp_path / LOCK_NAME).write_bytes(b"\xff\xfe")
        with pytest.raises(ProfileLocked, match="in use by another process"):
            async with ProfileLock(tmp_path, timeout_seconds=0).hold():
                pass


async def test_a_profile_that_cannot_be_locked_is_told_of(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).mkdir()
    with pytest.raises(BrowserUnavailable, match="cannot be locked"):
        async with ProfileLock(tmp_path, timeout_seconds=0).hold():
            pass


@pytest.mark.parametrize(
    "holder",
    ["container-that-is-no-more-17", f"{socket.gethostname()}-{os.getpid()}", "nonsense"],
    ids=["another machine's", "this process", "nonsense"],
)
async def test_chromiums_lock_is_taken_away_when_no_browser_is_behind_it(
    tmp_path: Path, holder: str
) -> None:
    (tmp_path / CHROMIUM_LOCK_NAME).symlink_to(holder)
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        assert not (tmp_path / CHROMIUM_LOCK_NAME).is_symlink()


def _start(line: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(line, stdin=subprocess.PIPE)


async def test_a_browser_that_outlived_its_cinder_is_waited_for(tmp_path: Path) -> None:
    line = [sys.executable, "-c", "input()", f"--user-data-dir={tmp_path}"]
    lock = tmp_path / CHROMIUM_LOCK_NAME
    with _start(line) as orphan:
        lock.symlink_to(f"{socket.gethostname()}-{orphan.pid}")
        with pytest.raises(ProfileLocked, match=f"in use by process {orphan.pid}"):
            async with ProfileLock(tmp_path, timeout_seconds=0.2).hold():
                pass
        assert lock.is_symlink()
    async with ProfileLock(tmp_path, timeout_seconds=0).hold():
        assert not lock.is_symlink()
