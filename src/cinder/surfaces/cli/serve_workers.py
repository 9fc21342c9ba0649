"""`cinder serve --workers`: one port, several processes, and what they share."""

import fcntl
import gc
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import structlog

from cinder.config import Settings, SettingsError
from cinder.surfaces.cli.shared_listener import ConnectionCounts, SharedListener
from cinder.surfaces.cli.worker_processes import WorkerProcesses
from cinder.surfaces.server_mark import marked
from cinder.worker_group import WorkerGroup

BACKLOG = 2048
_DIRECTORY_PREFIX = "workers-"
# What the name of a Unix socket may have, on the systems that allow the least.
_MAX_SOCKET_PATH = 100
# Beyond what each worker has, for the parent to see that it ended.
_PARENT_SECONDS = 5
# What a worker begins with: what is loaded before the fork is in memory once.
_PRELOADED = (
    "cinder.app",
    "cinder.app.rate_limits",
    "cinder.app.group_metrics",
    "cinder.surfaces.http",
    "cinder.surfaces.worker_routing",
    "uvicorn.protocols.http.httptools_impl",
)


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """What makes a process one worker of a server."""

    group: WorkerGroup
    sockets: list[socket.socket]
    """Where it listens: for clients, then for the other workers."""
    tell_listening: Callable[[], None]


# Serves with the settings of one worker until it is told to stop.
ServeWorker = Callable[[Settings, WorkerPlace], None]


def serve_with_workers(
    settings: Settings,
    listeners: Sequence[SharedListener],
    serve_worker: ServeWorker,
    announce: Callable[[int], None],
    *,
    stop_seconds: float,
) -> int:
    """Serve with several processes until told to stop; return the exit code.

    Raises:
        OSError: workers cannot be kept running.
    """
    size = settings.server.workers
    with ExitStack() as held:
        held.callback(_close, listeners)
        counts = ConnectionCounts(size)
        port = listeners[0].getsockname()[1]
        directory = held.enter_context(_shared_directory(settings.data_dir))
        groups = [WorkerGroup(number, size, directory) for number in range(size)]
        own = [_listen_for_workers(group.socket_path(group.number)) for group in groups]
        held.callback(_close, own)
        _preload(groups[0].metrics_directory)
        # Loaded with the rest, not before.
        from cinder.app.worker_limits import part_of

        def serve(number: int, tell_listening: Callable[[], None]) -> None:
            structlog.contextvars.bind_contextvars(worker=number)
            _close(own[:number] + own[number + 1 :])
            shared = [listener.share_fairly(counts, number) for listener in listeners]

            def tell() -> None:
                counts.enter(number)
                tell_listening()

            place = WorkerPlace(groups[number], [*shared, own[number]], tell)
            serve_worker(part_of(settings, number, size), place)

        def on_ready() -> None:
            held.enter_context(marked(settings.data_dir, port))
            announce(port)

        processes = WorkerProcesses(
            size,
            serve,
            stop_seconds=stop_seconds + _PARENT_SECONDS,
            on_end=counts.leave,
            on_stop=lambda: _close(listeners),
        )
        return processes.run(on_ready)


@contextmanager
def _shared_directory(data_dir: Path) -> Iterator[Path]:
    """Make the directory that workers share, locked for as long as any of them lives."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(data_dir)
    directory = Path(tempfile.mkdtemp(prefix=_DIRECTORY_PREFIX, dir=data_dir))
    try:
        if len(os.fsencode(directory)) > _MAX_SOCKET_PATH:
            raise SettingsError(
                f"data-dir: the path {data_dir} is too long for the sockets that server.workers "
                "needs; choose a shorter one, or one worker"
            )
        lock = os.open(directory, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield directory
        os.close(lock)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _sweep(data_dir: Path) -> None:
    """Remove what servers have left that were killed."""
    for left in data_dir.glob(f"{_DIRECTORY_PREFIX}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
            finally:
                os.close(lock)


def _listen_for_workers(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def _preload(metrics_directory: Path) -> None:
    """Load what workers need, once they count where all of them do."""
    metrics_directory.mkdir()
    # The library of metrics reads it as it is loaded, and whenever it counts something new.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics_directory)  # noqa: TID251
    for module in _PRELOADED:
        import_module(module)
    # What the collector never writes to stays in memory once.
    gc.freeze()


def _close(sockets: Sequence[socket.socket]) -> None:
    for each in sockets:
        each.close()
