"""User data directories: made for workers, locked, and swept."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cinder.browser.cdp import CdpMessage, CdpSession, ConnectionClosed
from cinder.browser.profiles import (
    CHROMIUM_LOCK_NAME,
    COOKIES_FILE_NAME,
    LOCK_NAME,
    ProfileLock,
    ProfileRoot,
    restore_cookies,
    save_cookies,
)
from cinder.browser.worker import BrowserWorkerLimits
from cinder.errors import BrowserUnavailable, ProfileLocked
from tests.browser.conftest import browser_settings
from tests.browser.runtime import make_profile, open_equipment, start_worker

HOLD = """
import asyncio, sys
from pathlib import Path
from cinder.browser.profiles import ProfileLock

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


FAR_AWAY = 4_000_000_000


@asynccontextmanager
async def a_browser(folder: Path) -> AsyncIterator[CdpSession]:
    async with open_equipment(browser_settings(folder.parent)) as equipment:
        worker = await start_worker(
            equipment, ProfileRoot(folder).make_disposable(), BrowserWorkerLimits()
        )
        try:
            await worker.browser.send("Target.createTarget", url="about:blank")
            yield worker.browser
        finally:
            await worker.close()


def a_cookie(name: str, **fields: object) -> CdpMessage:
    return {"name": name, "value": "1", "domain": "example.com", "path": "/", **fields}


async def cookies_of(browser: CdpSession) -> dict[str, tuple[str, bool]]:
    """Each cookie's domain and whether it ends with the session."""
    found = (await browser.send("Storage.getCookies"))["cookies"]
    return {cookie["name"]: (cookie["domain"], cookie["session"]) for cookie in found}


async def test_session_cookies_come_back_as_they_were_in_the_next_browser(tmp_path: Path) -> None:
    async with a_browser(tmp_path / "one") as browser:
        cookies = [
            a_cookie("host"),
            a_cookie("wide", domain=".example.com", httpOnly=True),
            a_cookie("__Host-strict", secure=True),
            a_cookie("dated", expires=FAR_AWAY),
        ]
        await browser.send("Storage.setCookies", cookies=cookies)
        await save_cookies(browser, tmp_path)
    assert (tmp_path / COOKIES_FILE_NAME).stat().st_mode & 0o777 == 0o600
    async with a_browser(tmp_path / "two") as browser:
        await restore_cookies(browser, tmp_path)
        assert await cookies_of(browser) == {
            "host": ("example.com", True),
            "wide": (".example.com", True),
            "__Host-strict": ("example.com", True),
        }


async def test_a_cookie_that_the_browser_refuses_costs_no_other(tmp_path: Path) -> None:
    wrong = a_cookie("__Host-wide", domain=".example.com", secure=True)
    kept = [wrong, {"nonsense": 1}, a_cookie("good")]
    (tmp_path / COOKIES_FILE_NAME).write_text(json.dumps(kept))
    async with a_browser(tmp_path / "one") as browser:
        await restore_cookies(browser, tmp_path)
        assert await cookies_of(browser) == {"good": ("example.com", True)}


async def test_a_browser_without_a_window_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / COOKIES_FILE_NAME).write_text(json.dumps([a_cookie("old")]))
    async with a_browser(tmp_path / "one") as browser:
        gone = asyncio.get_running_loop().create_future()
        browser.on("Target.targetDestroyed", lambda event: gone.set_result(event["targetId"]))
        [target] = (await browser.send("Target.getTargets"))["targetInfos"]
        await browser.send("Target.closeTarget", targetId=target["targetId"])
        assert await gone == target["targetId"]
        await save_cookies(browser, tmp_path)
    assert "old" in (tmp_path / COOKIES_FILE_NAME).read_text()


@pytest.mark.parametrize("text", ["", "{", "{}", "null"])
async def test_a_file_that_holds_no_cookies_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / COOKIES_FILE_NAME).write_text(text)
    async with a_browser(tmp_path / "one") as browser:
        await restore_cookies(browser, tmp_path)
        assert await cookies_of(browser) == {}


async def test_what_was_saved_stays_when_the_browser_or_the_disk_fails(tmp_path: Path) -> None:
    (tmp_path / COOKIES_FILE_NAME).write_text(json.dumps([a_cookie("old")]))
    async with a_browser(tmp_path / "one") as browser:
        await save_cookies(browser, tmp_path / "no such folder")
    await save_cookies(browser, tmp_path)
    assert "old" in (tmp_path / COOKIES_FILE_NAME).read_text()
    with pytest.raises(ConnectionClosed):
        await restore_cookies(browser, tmp_path)


LONG_AGO = 1_000_000_000


def test_each_worker_gets_a_folder_of_its_own_that_only_its_user_may_enter(tmp_path: Path) -> None:
    root = ProfileRoot(tmp_path / "browser")
    first, second = root.make_disposable(), root.make_disposable()
    assert [first.name, second.name] == [f"slave_{os.getpid()}_{n}" for n in (1, 2)]
    assert first.stat().st_mode & 0o777 == 0o700


def test_a_new_folder_has_nothing_of_an_earlier_process_with_this_ones_number(
    tmp_path: Path,
) -> None:
    left = tmp_path / f"slave_{os.getpid()}_1" / "Cookies"
    left.parent.mkdir()
    left.write_text("old")
    assert list(ProfileRoot(tmp_path).make_disposable().iterdir()) == []


def test_a_workers_folder_is_removed_and_a_persons_is_not(tmp_path: Path) -> None:
    root = ProfileRoot(tmp_path)
    slave, master = root.make_disposable(), make_profile(tmp_path)
    for profile in (slave, master, slave):
        root.remove(profile)
    assert list(tmp_path.iterdir()) == [master]


def test_profiles_of_ended_processes_are_swept_and_all_else_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    root = ProfileRoot(tmp_path)
    kept = [
        root.make_disposable(),
        *(make_profile(tmp_path, n) for n in ("master", "slave_of_fashion")),
    ]
    (tmp_path / f"slave_{ended.pid}_1").mkdir()
    assert root.sweep() == [f"slave_{ended.pid}_1"]
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_profiles_of_a_running_process_are_not_swept(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as running:
        (tmp_path / f"slave_{running.pid}_1").mkdir()
        assert ProfileRoot(tmp_path).sweep() == []


@pytest.mark.parametrize("pid", [1, os.getpid()], ids=["the first", "this"])
def test_a_profile_older_than_the_process_under_its_number_is_swept(
    tmp_path: Path, pid: int
) -> None:
    profile = tmp_path / f"slave_{pid}_7"
    profile.mkdir()
    os.utime(profile, (LONG_AGO, LONG_AGO))
    assert ProfileRoot(tmp_path).sweep() == [profile.name]


def test_there_is_nothing_to_sweep_before_the_first_browser(tmp_path: Path) -> None:
    assert ProfileRoot(tmp_path / "none").sweep() == []
