"""The lock on a person's profile: one browser at a time, among all processes of the machine."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from cinder.errors import BrowserUnavailable, ProfileLocked

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
