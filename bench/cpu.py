"""CPU time: of this process and of the children it still has, which os.times() leaves out."""

import os
import time
from pathlib import Path


def cpu_seconds(*, without: int) -> float:
    """Return the CPU seconds of this process and its running descendants, but for one of them."""
    others = [pid for pid in _descendants(os.getpid()) if pid != without]
    return time.process_time() + sum(map(_seconds_of, others))


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *_descendants(int(child))]
    return found


def _seconds_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
