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


def growth_per_page(samples: Sequence[tuple[int, int]], round_pages: int) -> float:
    """Return the slope of the line that fits (page, bytes) best, by least squares.

    A page is compared with those that had its place in earlier rounds: what a page takes depends
    on which one it is, and on how long ago a hostile one brought a browser down.
    """
    deviations = _from_mean_of_place(samples, round_pages)
    spread = sum(page**2 for page, _ in deviations)
    return sum(page * size for page, size in deviations) / spread if spread else 0.0


def growth_error(samples: Sequence[tuple[int, int]], round_pages: int) -> float:
    """Return the standard error of that slope: growth below it cannot be told from chance."""
    slope = growth_per_page(samples, round_pages)
    deviations = _from_mean_of_place(samples, round_pages)
    spread = sum(page**2 for page, _ in deviations)
    free = len(samples) - min(len(samples), round_pages) - 1
    if free < 1 or not spread:
        return 0.0
    rest = sum((size - slope * page) ** 2 for page, size in deviations)
    return float((rest / free / spread) ** 0.5)


def _from_mean_of_place(
    samples: Sequence[tuple[int, int]], round_pages: int
) -> list[tuple[float, float]]:
    """Return how far each sample is from the mean of those with the same place in a round."""
    places: dict[int, list[tuple[int, int]]] = {}
    for page, size in samples:
        places.setdefault(page % round_pages, []).append((page, size))
    deviations = []
    for same in places.values():
        mean_page = sum(page for page, _ in same) / len(same)
        mean_size = sum(size for _, size in same) / len(same)
        deviations += [(page - mean_page, size - mean_size) for page, size in same]
    return deviations
