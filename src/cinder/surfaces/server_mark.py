"""The mark of a running server: by it a command knows that its own server has a port.

The token in the data directory is for that directory's server alone. Anybody on the machine may
listen on a port that no server has, and would be given the token by whoever merely asked it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

# Other commands that look hold it for an instant: longer than that, only a server does.
_LOOK_SECONDS = 0.05
_START_SECONDS = 5


@contextmanager
def marked(data_dir: Path, port: int) -> Iterator[None]:
    """Hold the mark of a port; it goes with the process, however that ends."""
    lock = _lock(data_dir, port)
    lock.acquire(timeout=_START_SECONDS)
    try:
        yield
    finally:
        lock.release()


def is_marked(data_dir: Path, port: int) -> bool:
    """Whether a server that uses this directory listens on a port."""
    if not _path(data_dir, port).exists():
        return False
    lock = _lock(data_dir, port)
    try:
        lock.acquire(timeout=_LOOK_SECONDS, poll_interval=_LOOK_SECONDS / 10)
    except Timeout:
        return True
    lock.release()
    return False


def _lock(data_dir: Path, port: int) -> FileLock:
    return FileLock(_path(data_dir, port), is_singleton=False, thread_local=False)


def _path(data_dir: Path, port: int) -> Path:
    return data_dir / f"server-{port}.lock"
