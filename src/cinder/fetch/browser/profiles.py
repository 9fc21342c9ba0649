"""User data directories: where each browser keeps what it writes, and who may remove it."""

import os
import re
import shutil
from itertools import count
from pathlib import Path

import psutil

_SLAVE = re.compile(r"slave_(\d+)_(\d+)")


def is_slave_name(name: str) -> bool:
    """Whether a profile of this name is a worker's, to be removed when the worker has ended."""
    return _SLAVE.fullmatch(name) is not None


class ProfileRoot:
    """The folder below which all user data lives: a profile for each worker, and the master's."""

    def __init__(self, root: Path) -> None:
        self.path = root
        self._numbers = count(1)

    def make_slave(self) -> Path:
        """Make a new profile for a worker of this process."""
        profile = self.path / f"slave_{os.getpid()}_{next(self._numbers)}"
        self._remove(profile)  # left by an earlier process that had this one's number
        profile.mkdir(parents=True, mode=0o700)
        return profile

    def remove(self, profile: Path) -> None:
        """Delete a worker's profile; a person's stays."""
        if is_slave_name(profile.name):
            self._remove(profile)

    def sweep(self) -> list[str]:
        """Delete the workers' profiles of processes that have ended; return their names."""
        swept = []
        for profile in self.path.glob("slave_*"):
            match = _SLAVE.fullmatch(profile.name)
            if match and not _is_owned(profile, int(match[1])):
                self._remove(profile)
                swept.append(profile.name)
        return swept

    def _remove(self, profile: Path) -> None:
        shutil.rmtree(profile, ignore_errors=True)


def _is_owned(profile: Path, pid: int) -> bool:
    """Whether the process that made a profile still runs, and not another under its number."""
    try:
        return psutil.Process(pid).create_time() <= profile.stat().st_mtime
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False
