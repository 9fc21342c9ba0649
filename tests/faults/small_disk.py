"""A disk of a few megabytes, which a test can fill and free."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A mounted disk."""

    root: Path

    @property
    def _ballast(self) -> Path:
        return self.root / "ballast"

    def fill(self) -> None:
        """Take all that is left, to the last byte."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (_CHUNK, 1):
                with suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass
        assert os.statvfs(self.root).f_bavail == 0

    def free(self) -> None:
        """Give it back."""
        self._ballast.unlink()


@contextmanager
def mount_small_disk(root: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a disk until the exit; skip the test where this user may not mount."""
    root.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(root)],
        capture_output=True,
        check=False,
    )
    if mounting.returncode:
        pytest.skip(f"this user may not mount a small disk: {mounting.stderr.decode().strip()}")
    try:
        yield SmallDisk(root)
    finally:
        # Lazily: what a process that was just ended had open may not be closed yet.
        subprocess.run(["umount", "--lazy", str(root)], check=True)
