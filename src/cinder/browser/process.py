"""A browser's operating-system processes: started on a pipe, measured, and killed completely."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil

from cinder.browser.cdp import CdpConnection, PipeConnection
from cinder.errors import BrowserCrashed, CinderError

# The descriptors on which Chromium reads commands and writes responses.
_COMMANDS_FD, _ANSWERS_FD = 3, 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAPBSET_DROP = 24
_CAP_SYS_NICE = 23
_CRASHES_NAME = "crashes"
# `chrome_crashpad_handler`, as the kernel truncates it.
_REPORTER_NAME = "chrome_crashpad"
_MAX_MESSAGE_BYTES = 256 * 1024 * 1024
_REAP_INTERVAL_SECONDS = 0.05
_PRIORITY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserProcess:
    """A running browser, whose main process leads a session of all its processes.

    Only the crash reporters of a full browser leave the session; their command line has the folder
    that they report to.
    """

    is_remote: ClassVar[bool] = False
    pid: int
    connection: CdpConnection
    crashes: Path

    @property
    def name(self) -> str:
        """The name of its profile."""
        return self.crashes.parent.name

    @property
    def loss(self) -> CinderError:
        """The error of pages that it leaves unread."""
        return BrowserCrashed()

    async def private_bytes(self) -> int:
        """Return the memory that the browser's processes do not share."""

        def measure() -> int:
            total = 0
            for pid in _members(self.pid):
                with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    memory = psutil.Process(pid).memory_info()
                    total += memory.rss - getattr(memory, "shared", 0)
            return total

        return await asyncio.to_thread(measure)

    def kill(self) -> None:
        """Kill the browser's main process; `kill_all` kills the others too."""
        with suppress(OSError):
            if os.getsid(self.pid) == self.pid:
                os.kill(self.pid, signal.SIGKILL)

    async def kill_all(self) -> None:
        """Kill all of the browser's processes."""
        await asyncio.to_thread(_kill_all, self.pid, self.crashes)

    async def wait_ended(self, timeout_seconds: float) -> bool:
        """Wait until all processes of the browser have ended; return whether they have."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await _reap_all(self.pid, self.crashes)
                return True
        return False


async def start_process(
    executable: Path, arguments: Sequence[str], *, environment: Mapping[str, str], log: Path
) -> BrowserProcess:
    """Start a browser that reads its commands from a pipe; its output goes to a log.

    Raises:
        OSError: it cannot be started.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        # Adopt the processes that browsers leave: a container may have no init to reap them.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # Browsers started by root must not raise their priority above the server's.
        libc.prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)
    crashes = log.parent / _CRASHES_NAME
    environment = {**environment, "BREAKPAD_DUMP_LOCATION": str(crashes)}
    pid, answers_fd, commands_fd = _spawn(executable, arguments, environment, log)
    try:
        connection = await PipeConnection.open(
            answers_fd, commands_fd, max_message_bytes=_MAX_MESSAGE_BYTES
        )
    except BaseException:  # cancelled: no caller has the process yet
        await asyncio.to_thread(_kill_all, pid, crashes)
        await _reap_all(pid, crashes)
        raise
    return BrowserProcess(pid=pid, connection=connection, crashes=crashes)


def _spawn(
    executable: Path, arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> tuple[int, int, int]:
    """Return the new process and our ends of its pipes: to read from, and to write to."""
    with ExitStack() as ours, ExitStack() as theirs:
        commands_read, commands_write = os.pipe()
        theirs.callback(os.close, commands_read)
        ours.callback(os.close, commands_write)
        answers_read, answers_write = os.pipe()
        theirs.callback(os.close, answers_write)
        ours.callback(os.close, answers_read)
        log_fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        theirs.callback(os.close, log_fd)
        null_fd = os.open(os.devnull, os.O_RDONLY)
        theirs.callback(os.close, null_fd)
        # Two high numbers in between: either end may have the other's number, and a descriptor
        # that is copied onto itself stays closed in the new program.
        high = max(commands_read, answers_write, _ANSWERS_FD) + 1
        pid = os.posix_spawn(
            executable,
            [str(executable), *arguments],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null_fd, 0),
                (os.POSIX_SPAWN_DUP2, log_fd, 1),
                (os.POSIX_SPAWN_DUP2, log_fd, 2),
                (os.POSIX_SPAWN_DUP2, commands_read, high),
                (os.POSIX_SPAWN_DUP2, answers_write, high + 1),
                (os.POSIX_SPAWN_DUP2, high, _COMMANDS_FD),
                (os.POSIX_SPAWN_DUP2, high + 1, _ANSWERS_FD),
                (os.POSIX_SPAWN_CLOSE, high),
                (os.POSIX_SPAWN_CLOSE, high + 1),
            ],
            setsid=True,
        )
        # Its children inherit this: the server runs before the browsers.
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, max(own, _PRIORITY))
        ours.pop_all()
    return pid, answers_read, commands_write


# Listing all processes of the machine takes milliseconds: the functions below run in threads.


def _members(session: int) -> list[int]:
    """Return the processes of a session, including zombies."""
    members = []
    for pid in psutil.pids():
        with suppress(OSError):
            if os.getsid(pid) == session:
                members.append(pid)
    return members


def _reporters(crashes: Path) -> list[int]:
    """Return the crash reporters of a folder, and all zombies of reporters.

    Zombies have no command line that would show their folder.
    """
    folder = f"--database={crashes}"
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if child.name().startswith(_REPORTER_NAME):
                try:
                    arguments = child.cmdline()
                except psutil.ZombieProcess:
                    arguments = []
                if not arguments or folder in arguments:
                    found.append(child.pid)
    return found


def _kill_all(session: int, crashes: Path) -> None:
    killed: set[int] = set()
    # Repeat until there are no new ones: processes may start during the listing.
    while new := {*_members(session), *_reporters(crashes)} - killed:
        for pid in new:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= new


async def _reap_all(session: int, crashes: Path) -> None:
    """Wait until all processes of a browser have ended, and reap them."""

    def reap() -> int:
        members = [*_members(session), *_reporters(crashes)]
        for pid in members:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return len(members)

    while await asyncio.to_thread(reap):  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(_REAP_INTERVAL_SECONDS)
