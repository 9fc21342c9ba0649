"""User data directories: disposable ones, the master profile's lock, and its session cookies."""

import asyncio
import json
import os
import re
import shutil
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import psutil
import structlog
from filelock import FileLock, Timeout
from structlog.typing import FilteringBoundLogger

from cinder.browser.cdp import CdpMessage, CdpSession, CommandFailed, ConnectionClosed
from cinder.errors import BrowserUnavailable, ProfileLocked

_DISPOSABLE_NAME = re.compile(r"slave_(\d+)_(\d+)")


def is_disposable_name(name: str) -> bool:
    """Whether a profile of this name is a worker's, to be removed when the worker has ended."""
    return _DISPOSABLE_NAME.fullmatch(name) is not None


class ProfileRoot:
    """The folder below which all user data lives: a profile for each worker, and the master's."""

    def __init__(self, root: Path) -> None:
        self.path = root
        self._numbers = count(1)

    def make_disposable(self) -> Path:
        """Make a new profile for a worker of this process."""
        profile = self.path / f"slave_{os.getpid()}_{next(self._numbers)}"
        self._remove(profile)  # left by an earlier process that had this one's number
        profile.mkdir(parents=True, mode=0o700)
        return profile

    def remove(self, profile: Path) -> None:
        """Delete a worker's profile; a person's stays."""
        if is_disposable_name(profile.name):
            self._remove(profile)

    def sweep(self) -> list[str]:
        """Delete the workers' profiles of processes that have ended; return their names."""
        swept = []
        for profile in self.path.glob("slave_*"):
            match = _DISPOSABLE_NAME.fullmatch(profile.name)
            if match and not _is_owned(profile, int(match[1])):
                self._remove(profile)
                swept.append(profile.name)
        return swept

    def _remove(self, profile: Path) -> None:
        shutil.rmtree(profile, ignore_errors=True)


def _is_owned(profile: Path, pid: int) -> bool:
    """Whether the process that made a profile still runs, and not another under its number."""
    try:
        return psutil.Process(pid).create_time() <= profile.stat().st_mtime
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False


LOCK_NAME = "browser.lock"
# Chromium's own: a link whose target, `{host}-{pid}`, tells who has the profile.
CHROMIUM_LOCK_NAME = "SingletonLock"
_POLL_SECONDS = 0.1


class ProfileLock:
    """Held by whoever runs a browser on the profile; the file tells its holder's process id."""

    def __init__(self, profile: Path, *, timeout_seconds: float) -> None:
        self._profile = profile
        self._path = profile / LOCK_NAME
        self._timeout_seconds = timeout_seconds

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Wait for the lock and hold it.

        Raises:
            ProfileLocked: another process had it all the time.
            BrowserUnavailable: the profile's folder cannot be written to.
        """
        # Not one for the whole process: two holders within it must exclude each other as well.
        lock = FileLock(self._path, is_singleton=False, thread_local=False)
        try:
            await self._take(lock)
            yield
        finally:
            lock.release()

    async def _take(self, lock: FileLock) -> None:
        deadline = time.monotonic() + self._timeout_seconds
        try:
            self._profile.mkdir(parents=True, exist_ok=True, mode=0o700)
            await self._acquire(lock, deadline)
            self._path.write_text(str(os.getpid()))
            await self._outlast_orphan(deadline)
        except OSError as error:
            raise BrowserUnavailable(
                f"The browser profile {self._profile} cannot be locked: {error.strerror}"
            ) from error

    async def _acquire(self, lock: FileLock, deadline: float) -> None:
        while True:
            try:
                lock.acquire(blocking=False)
                return
            except Timeout:
                if time.monotonic() >= deadline:
                    raise self._locked(self._holder()) from None
            await asyncio.sleep(_POLL_SECONDS)

    async def _outlast_orphan(self, deadline: float) -> None:
        """Wait for a browser whose cinder was killed, and take away the lock of one that died.

        A browser that was killed leaves its own lock, and if that names another host, such as a
        container that is no more, none would ever start on the profile again.
        """
        lock = self._profile / CHROMIUM_LOCK_NAME
        while lock.is_symlink():
            host, _, pid = str(lock.readlink()).rpartition("-")
            if host != socket.gethostname() or not self._has_browser(pid):
                lock.unlink(missing_ok=True)
            elif time.monotonic() >= deadline:
                raise self._locked(pid)
            else:
                await asyncio.sleep(_POLL_SECONDS)

    def _has_browser(self, pid: str) -> bool:
        try:
            return any(str(self._profile) in part for part in psutil.Process(int(pid)).cmdline())
        except (ValueError, psutil.Error):
            return False

    def _holder(self) -> str:
        try:
            return self._path.read_text().strip()
        except (OSError, ValueError):  # gone by now, another user's, or not written by us
            return ""

    def _locked(self, holder: str) -> ProfileLocked:
        by = f"process {holder}" if holder.isdecimal() else "another process"
        return ProfileLocked(
            f"The browser profile {self._profile} is in use by {by}. Close that browser (is "
            "`cinder open-browser` still running?) or try again later; the wait for it is the "
            "setting browser.master-profile-lock-timeout-ms."
        )


_log: FilteringBoundLogger = structlog.get_logger()

COOKIES_FILE_NAME = "session_cookies.json"
_TIMEOUT_SECONDS = 5
# What a cookie is set with; the rest of what browsers tell of one is theirs.
_FIELDS = ("name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "partitionKey")


async def save_cookies(browser: CdpSession, profile: Path) -> None:
    """Keep the cookies that have no date to expire on; on failure the last ones stay.

    A browser whose last window is closed forgets them before it ends: what it then tells does not
    count.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            found = (await browser.send("Storage.getCookies"))["cookies"]
            if not await _has_window(browser):
                return
        kept = [
            {name: cookie[name] for name in _FIELDS if name in cookie}
            for cookie in found
            if cookie.get("session")
        ]
        _write(profile / COOKIES_FILE_NAME, json.dumps(kept))
    except (CommandFailed, ConnectionClosed, TimeoutError):
        pass  # the browser has ended, or is about to be
    except OSError as error:
        _log.error("logins not saved", profile=profile.name, reason=error.strerror)


async def _has_window(browser: CdpSession) -> bool:
    targets = (await browser.send("Target.getTargets"))["targetInfos"]
    return any(target["type"] == "page" for target in targets)


async def restore_cookies(browser: CdpSession, profile: Path) -> None:
    """Put back the cookies of the session before; one that is refused is left out.

    Only once there is a window: until then the browser is still forgetting the session before.

    Raises:
        ConnectionClosed: the browser has ended.
    """
    for cookie in _read(profile / COOKIES_FILE_NAME):
        with suppress(CommandFailed, TimeoutError):
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await browser.send("Storage.setCookies", cookies=[cookie])


def _read(path: Path) -> list[CdpMessage]:
    try:
        cookies = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return cookies if isinstance(cookies, list) else []


def _write(path: Path, text: str) -> None:
    """Replace a file whole; its reader is its owner alone."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    new.replace(path)
