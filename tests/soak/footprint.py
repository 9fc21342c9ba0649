"""What cinder takes up: processes, open files, and memory."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What this process and all that come from it take up at one moment."""

    processes: int
    files: int
    own_bytes: int
    browsers_bytes: int

    @property
    def memory_bytes(self) -> int:
        return self.own_bytes + self.browsers_bytes


def take_footprint() -> Footprint:
    """Measure. Memory is proportional: what processes share is counted once among them."""
    children = psutil.Process().children(recursive=True)
    return Footprint(
        processes=len(children),
        files=len(list(Path("/proc/self/fd").iterdir())),
        own_bytes=_proportional_bytes(os.getpid()),
        browsers_bytes=sum(_proportional_bytes(child.pid) for child in children),
    )


def _proportional_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0  # it has ended


def least_of_each(number: int, samples: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return of each so many samples the least: garbage comes and goes, what leaks stays."""
    groups = (samples[start : start + number] for start in range(0, len(samples), number))
    return [min(group, key=lambda sample: sample[1]) for group in groups]


def growth_per_page(samples: Sequence[tuple[int, int]]) -> float:
    """Return the slope of the line that fits (page, bytes) best, by least squares."""
    if len(samples) < 2:
        return 0.0
    mean_page = sum(page for page, _ in samples) / len(samples)
    mean_bytes = sum(size for _, size in samples) / len(samples)
    spread = sum((page - mean_page) ** 2 for page, _ in samples)
    product = sum((page - mean_page) * (size - mean_bytes) for page, size in samples)
    return product / spread


def growth_error(samples: Sequence[tuple[int, int]]) -> float:
    """Return the standard error of that slope: growth below it cannot be told from chance."""
    if len(samples) < 3:
        return 0.0
    slope = growth_per_page(samples)
    mean_page = sum(page for page, _ in samples) / len(samples)
    mean_bytes = sum(size for _, size in samples) / len(samples)
    spread = sum((page - mean_page) ** 2 for page, _ in samples)
    rest = sum((size - mean_bytes - slope * (page - mean_page)) ** 2 for page, size in samples)
    return float((rest / (len(samples) - 2) / spread) ** 0.5)
