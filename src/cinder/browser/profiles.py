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

from cinder.browser.cdp import CdpSession, CommandFailed, ConnectionClosed
from cinder.errors import BrowserUnavailable, ProfileLocked

_DISPOSABLE_NAME = re.compile(r"slave_(\d+)_(\d+)")


def is_disposable_name(name: str) -> bool:
    """Whether a profile of this name belongs to a worker, and is deleted with it."""
    return _DISPOSABLE_NAME.fullmatch(name) is not None


class ProfileRoot:
    """The folder of all profiles: one for each worker, and the master profile."""

    def __init__(self, root: Path) -> None:
        self.path = root
        self._numbers = count(1)

    def make_disposable(self) -> Path:
        """Make a new profile for a worker of this process."""
        profile = self.path / f"slave_{os.getpid()}_{next(self._numbers)}"
        shutil.rmtree(profile, ignore_errors=True)  # left by an earlier process with the same id
        profile.mkdir(parents=True, mode=0o700)
        return profile

    def remove(self, profile: Path) -> None:
        """Delete a worker's profile; the master profile is kept."""
        if is_disposable_name(profile.name):
            shutil.rmtree(profile, ignore_errors=True)

    def sweep(self) -> list[str]:
        """Delete the workers' profiles of processes that have ended; return their names."""
        swept = []
        for profile in self.path.glob("slave_*"):
            match = _DISPOSABLE_NAME.fullmatch(profile.name)
            if match is None:
                continue
            with suppress(psutil.NoSuchProcess, FileNotFoundError):
                # A later start means that another process has the id now.
                if psutil.Process(int(match[1])).create_time() <= profile.stat().st_mtime:
                    continue
            shutil.rmtree(profile, ignore_errors=True)
            swept.append(profile.name)
        return swept


LOCK_NAME = "browser.lock"
# Chromium's own lock: a symbolic link to `{host}-{pid}` of its holder.
CHROMIUM_LOCK_NAME = "SingletonLock"
_POLL_SECONDS = 0.1


class ProfileLock:
    """Held while a browser runs on the profile; the file contains the holder's process id."""

    def __init__(self, profile: Path, *, timeout_seconds: float) -> None:
        self._profile = profile
        self._path = profile / LOCK_NAME
        self._timeout_seconds = timeout_seconds

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Wait for the lock and hold it.

        Raises:
            ProfileLocked: another process held it all the time.
            BrowserUnavailable: the profile's folder is not writable.
        """
        # Not a singleton: two holders in one process must exclude each other as well.
        lock = FileLock(self._path, is_singleton=False, thread_local=False)
        deadline = time.monotonic() + self._timeout_seconds
        try:
            try:
                self._profile.mkdir(parents=True, exist_ok=True, mode=0o700)
                await self._acquire(lock, deadline)
                self._path.write_text(str(os.getpid()))
                await self._wait_for_orphan(deadline)
            except OSError as error:
                raise BrowserUnavailable(
                    f"The browser profile {self._profile} cannot be locked: {error.strerror}"
                ) from error
            yield
        finally:
            lock.release()

    async def _acquire(self, lock: FileLock, deadline: float) -> None:
        while True:
            try:
                lock.acquire(blocking=False)
                return
            except Timeout:
                if time.monotonic() >= deadline:
                    holder = ""
                    with suppress(OSError, ValueError):  # deleted, another user's, or not ours
                        holder = self._path.read_text().strip()
                    raise self._locked(holder) from None
            await asyncio.sleep(_POLL_SECONDS)

    async def _wait_for_orphan(self, deadline: float) -> None:
        """Wait for a browser whose cinder was killed; remove the lock of one that is dead.

        A killed browser leaves its own lock. If that names another host, such as a deleted
        container, no browser would ever start on the profile again.
        """
        lock = self._profile / CHROMIUM_LOCK_NAME
        while lock.is_symlink():
            host, _, pid = str(lock.readlink()).rpartition("-")
            try:
                command = psutil.Process(int(pid)).cmdline()
            except (ValueError, psutil.Error):
                command = []
            is_running = any(str(self._profile) in argument for argument in command)
            if host != socket.gethostname() or not is_running:
                lock.unlink(missing_ok=True)
            elif time.monotonic() >= deadline:
                raise self._locked(pid)
            else:
                await asyncio.sleep(_POLL_SECONDS)

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
# The fields that a cookie can be set with.
_FIELDS = ("name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "partitionKey")


async def save_cookies(browser: CdpSession, profile: Path) -> None:
    """Save the session cookies, which have no expiry date; on failure the saved file is kept.

    A browser whose last window is closed forgets them before it ends: its response is ignored then.
    """
    path = profile / COOKIES_FILE_NAME
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            found = (await browser.send("Storage.getCookies"))["cookies"]
            targets = (await browser.send("Target.getTargets"))["targetInfos"]
            if not any(target["type"] == "page" for target in targets):
                return
        kept = [
            {name: cookie[name] for name in _FIELDS if name in cookie}
            for cookie in found
            if cookie.get("session")
        ]
        # Replaced as a whole, and readable by the owner alone.
        new = path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps(kept))
        new.replace(path)
    except (CommandFailed, ConnectionClosed, TimeoutError):
        pass  # the browser has ended, or is about to end
    except OSError as error:
        _log.error("logins not saved", profile=profile.name, reason=error.strerror)


async def restore_cookies(browser: CdpSession, profile: Path) -> None:
    """Restore the cookies of the last session; refused ones are left out.

    There must be a window: until then the browser is still forgetting the last session.

    Raises:
        ConnectionClosed: the browser has ended.
    """
    try:
        cookies = json.loads((profile / COOKIES_FILE_NAME).read_text())
    except (OSError, ValueError):
        return
    for cookie in cookies if isinstance(cookies, list) else []:
        with suppress(CommandFailed, TimeoutError):
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await browser.send("Storage.setCookies", cookies=[cookie])
