"""CPU time: of processes and of their children, which os.times() leaves out while they run."""

import os
import time
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(*, without: int) -> float:
    """Return the CPU seconds of this process and its running descendants, but for one of them."""
    others = [pid for pid in _descendants(os.getpid()) if pid != without]
    return time.process_time() + sum(sum(_ticks(pid)[:2]) for pid in others) / TICKS_PER_SECOND


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and all its descendants, those that ended as well."""
    return sum(sum(_ticks(each)) for each in (pid, *_descendants(pid))) / TICKS_PER_SECOND


def exact_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its running descendants, to the nanosecond.

    Threads and children that have ended are left out: those of a server under load stay.
    """
    return sum(_nanoseconds(each) for each in (pid, *_descendants(pid))) / 1e9


def _nanoseconds(pid: int) -> int:
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            total += int(task.read_text().split()[0])
    return total


def _descendants(pid: int) -> list[int]:
    found = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    except (FileNotFoundError, ProcessLookupError):
        # It ended meanwhile, and what it used is now counted with its parent.
        return []
    return found


def _ticks(pid: int) -> list[int]:
    """Return the user and system ticks of a process, then those of its ended children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return [0, 0, 0, 0]
    return list(map(int, fields[11:15]))
