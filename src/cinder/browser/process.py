"""A browser's operating-system processes: started on a pipe, measured, and killed completely."""

import asyncio
import ctypes
import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from cinder.browser.cdp import CdpConnection

# The descriptors on which Chromium reads commands and writes answers.
_COMMANDS_FD, _ANSWERS_FD = 3, 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAPBSET_DROP = 24
_CAP_SYS_NICE = 23
_CRASHES_NAME = "crashes"
# As much of `chrome_crashpad_handler` as the kernel remembers.
_REPORTER_NAME = "chrome_crashpad"
_MAX_MESSAGE_BYTES = 256 * 1024 * 1024
_REAP_INTERVAL_SECONDS = 0.05
_PRIORITY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserProcess:
    """A running browser: its main process leads a session that all its processes belong to.

    All but the crash reporters of a full browser, which it cannot do without: they leave the
    session, and are told by the folder they report to.
    """

    pid: int
    connection: CdpConnection
    crashes: Path

    async def private_bytes(self) -> int:
        """Return the memory that the browser's processes hold for themselves."""
        return await asyncio.to_thread(_private_bytes, self.pid)

    def kill(self) -> None:
        """End the browser's main process at once; `kill_all` ends those that do not follow it."""
        with suppress(OSError):
            if os.getsid(self.pid) == self.pid:
                os.kill(self.pid, signal.SIGKILL)

    async def kill_all(self) -> None:
        """End all of the browser's processes at once."""
        await asyncio.to_thread(_kill_all, self.pid, self.crashes)

    async def wait_ended(self, timeout_seconds: float) -> bool:
        """Wait until no process of the browser is left; return whether that is so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await _reap_all(self.pid, self.crashes)
                return True
        return False


async def start_process(
    executable: Path, arguments: Sequence[str], *, environment: Mapping[str, str], log: Path
) -> BrowserProcess:
    """Start a browser that takes its commands from a pipe; what it says goes to a log.

    Raises:
        OSError: it cannot be started.
    """
    _adopt_orphans()
    _keep_priority_low()
    crashes = log.parent / _CRASHES_NAME
    environment = {**environment, "BREAKPAD_DUMP_LOCATION": str(crashes)}
    pid, answers_fd, commands_fd = _spawn(executable, arguments, environment, log)
    try:
        connection = await CdpConnection.open(
            answers_fd, commands_fd, max_message_bytes=_MAX_MESSAGE_BYTES
        )
    except BaseException:  # cut off: there is nobody yet who would end it
        await asyncio.to_thread(_kill_all, pid, crashes)
        await _reap_all(pid, crashes)
        raise
    return BrowserProcess(pid=pid, connection=connection, crashes=crashes)


def _spawn(
    executable: Path, arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> tuple[int, int, int]:
    """Return the new process and our ends of its pipe: to read from, and to write to."""
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
        pid = os.posix_spawn(
            executable,
            [str(executable), *arguments],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null_fd, 0),
                (os.POSIX_SPAWN_DUP2, log_fd, 1),
                (os.POSIX_SPAWN_DUP2, log_fd, 2),
                *_place_pipes(commands_read, answers_write),
            ],
            setsid=True,
        )
        # What it starts inherits this. Requests are answered before pages are rendered.
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, max(own, _PRIORITY))
        ours.pop_all()
    return pid, answers_read, commands_write


def _place_pipes(commands: int, answers: int) -> list[tuple[int, ...]]:
    # By way of two high numbers: either end may itself stand where the other has to go, and a
    # descriptor that is copied onto itself would stay closed to the new program.
    high = max(commands, answers, _ANSWERS_FD) + 1
    return [
        (os.POSIX_SPAWN_DUP2, commands, high),
        (os.POSIX_SPAWN_DUP2, answers, high + 1),
        (os.POSIX_SPAWN_DUP2, high, _COMMANDS_FD),
        (os.POSIX_SPAWN_DUP2, high + 1, _ANSWERS_FD),
        (os.POSIX_SPAWN_CLOSE, high),
        (os.POSIX_SPAWN_CLOSE, high + 1),
    ]


# What looks through all processes of the machine takes milliseconds: it runs in threads.


def _private_bytes(session: int) -> int:
    total = 0
    for pid in _members(session):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            memory = psutil.Process(pid).memory_info()
            total += memory.rss - getattr(memory, "shared", 0)
    return total


def _members(session: int) -> list[int]:
    """Return the processes of a session, those included that have ended and were not reaped."""
    members = []
    for pid in psutil.pids():
        with suppress(OSError):
            if os.getsid(pid) == session:
                members.append(pid)
    return members


def _reporters(crashes: Path) -> list[int]:
    """Return the crash reporters that report to a folder, and any that end or wait to be reaped.

    Those tell no more whose they were.
    """
    folder = f"--database={crashes}"
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if child.name().startswith(_REPORTER_NAME):
                arguments = _arguments(child)
                if not arguments or folder in arguments:
                    found.append(child.pid)
    return found


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.ZombieProcess:
        return []


def _kill_all(session: int, crashes: Path) -> None:
    killed: set[int] = set()
    # Again until nothing new is there: one may have been born while the others were looked for.
    while born := {*_members(session), *_reporters(crashes)} - killed:
        for pid in born:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= born


async def _reap_all(session: int, crashes: Path) -> None:
    """Wait until all processes of a browser have ended, and reap them."""
    while await asyncio.to_thread(_reap, session, crashes):  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(_REAP_INTERVAL_SECONDS)


def _reap(session: int, crashes: Path) -> int:
    """Reap those that have ended; return how many there were, running ones included."""
    members = [*_members(session), *_reporters(crashes)]
    for pid in members:
        try:
            os.waitpid(pid, os.WNOHANG)
        except OSError as error:
            if error.errno != errno.ECHILD:
                raise
    return len(members)


def _adopt_orphans() -> None:
    """Become the parent of what browsers leave: in a container there may be nobody else to reap.

    Only Linux knows this, and only there is it needed.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _keep_priority_low() -> None:
    """Keep browsers that root starts from raising their own priority above the server's."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)
