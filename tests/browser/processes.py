"""What of browsers runs on this machine, as the kernel tells it."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

_STEP_SECONDS = 0.02


# Other tests' databases start and end processes whenever they like.
_DATABASES = frozenset(("postgres", "rm"))


def descendants() -> set[int]:
    """All processes that come from this one, those included that ended and were not reaped."""
    found = psutil.Process().children(recursive=True)
    return {process.pid for process in found if _name(process) not in _DATABASES}


def open_files() -> set[str]:
    """What this process has open, apart from the listing itself."""
    return {f"{fd.name}: {_target(fd)}" for fd in Path("/proc/self/fd").iterdir() if _target(fd)}


def _target(fd: Path) -> str:
    with suppress(FileNotFoundError):
        return str(fd.readlink())
    return ""


def browsers_on(root: Path) -> list[psutil.Process]:
    """The main processes of the browsers whose profiles lie below a folder."""
    return [
        process
        for process in psutil.process_iter()
        if (arguments := _arguments(process))
        and any(a.startswith(f"--user-data-dir={root}") for a in arguments)
        and not any(a.startswith("--type=") for a in arguments)
        and _leads_session(process)
    ]


def _leads_session(process: psutil.Process) -> bool:
    # A child that has not become another program yet has its parent's arguments.
    try:
        return os.getsid(process.pid) == process.pid
    except OSError:
        return False


def processes_of(pid: int) -> list[psutil.Process]:
    """The processes of a browser's session, those included that ended and were not reaped."""
    found = []
    for process in psutil.process_iter():
        with suppress(OSError):
            if os.getsid(process.pid) == pid:
                found.append(process)
    return found


def renderers_of(pid: int) -> list[psutil.Process]:
    """The processes of a browser that show pages."""
    return [p for p in processes_of(pid) if "--type=renderer" in _arguments(p)]


def is_ended(process: psutil.Process) -> bool:
    """Whether a process runs no more, reaped or not."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def reap_orphans() -> None:
    """Reap what came to this process when its own parent was killed."""
    for process in psutil.Process().children():
        if is_ended(process):
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def until(holds: Callable[[], object], *, seconds: float = 60) -> None:
    """Wait until something holds that only the kernel knows of."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - the kernel sets no event
            await asyncio.sleep(_STEP_SECONDS)
