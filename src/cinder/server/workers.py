"""The worker processes of `cinder serve --workers`: forked, replaced and stopped by one parent.

It serves nothing itself, runs no event loop and no thread: so it can fork at any time, and a worker
begins with everything that the parent has loaded.
"""

import ctypes
import fcntl
import gc
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import structlog

from cinder.config import Settings, SettingsError
from cinder.server.exit_status import report_failure
from cinder.server.local_access import hold_port_lock
from cinder.server.process_control import exit_after_timeout, exit_by_signal
from cinder.server.shared_listener import ConnectionCounts, SharedListener
from cinder.worker_group import WorkerGroup

# Failed starts in a row after which the server stops: whoever runs it is to look.
MAX_FAILED_STARTS = 5
# A worker that lived for so long may be replaced at once.
_STEADY_SECONDS = 30
_MAX_WAIT_SECONDS = 30
_PR_SET_PDEATHSIG = 1
_READY = b"r"
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

# Serves as the worker of a number until it is told to stop, and calls back once it listens.
RunWorker = Callable[[int, Callable[[], None]], None]

log = structlog.get_logger()


class WorkersFailed(OSError):
    """The workers cannot be kept running."""


@dataclass(slots=True)
class _Worker:
    """The place of one worker, and the process that has it now."""

    number: int
    pid: int | None = None
    ready_pipe: int | None = None
    """Where it says that it listens; None once it has, or has ended."""
    is_ready: bool = False
    started_at: float = 0
    start_at: float = 0
    """When it is to be started, while there is none."""
    early_ends: int = 0
    """In a row, soon after a start."""
    failed_starts: int = 0
    """In a row: it ended before it listened."""


@dataclass(slots=True)
class WorkerProcesses:
    """Keeps so many workers running until the process is told to stop."""

    count: int
    serve: RunWorker
    stop_seconds: float
    """How long all of them may take to end; then they are killed."""
    on_end: Callable[[int], None]
    """Called with the number of a worker that has ended."""
    on_stop: Callable[[], None]
    """Called before the workers are told to stop."""
    _workers: list[_Worker] = field(default_factory=list)
    _told: list[int] = field(default_factory=list)
    """The signals to stop that came."""
    _exit_code: int = 0

    def run(self, on_ready: Callable[[], None]) -> int:
        """Start the workers, call back once all of them listen, and return the exit code.

        Raises:
            WorkersFailed: one could not be started time and again.
        """
        self._workers = [_Worker(number) for number in range(self.count)]
        wakeup = _catch_signals(self._told)
        try:
            # The first one alone: what keeps it from starting keeps all of them, and is told once.
            if all(
                self._start_and_wait(part, wakeup)
                for part in (self._workers[:1], self._workers[1:])
            ):
                on_ready()
                self._keep_running(wakeup)
        finally:
            self._stop()
        return self._exit_code

    def _start_and_wait(self, workers: list[_Worker], wakeup: int) -> bool:
        """Start workers; return whether all of them listen."""
        for worker in workers:
            self._start(worker)
        while not all(worker.is_ready for worker in workers):
            self._wait(wakeup, None)
            for _, status in self._ended():
                # It has told why.
                self._exit_code = self._exit_code or _exit_code(status) or 1
            if self._told or self._exit_code:
                return False
        return True

    def _keep_running(self, wakeup: int) -> None:
        while not self._told:
            now = time.monotonic()
            due = [each for each in self._workers if each.pid is None and each.start_at <= now]
            for worker in due:
                self._start_again(worker)
            waits = [each.start_at - now for each in self._workers if each.pid is None]
            self._wait(wakeup, max(0.0, min(waits)) if waits and not due else None)
            for worker, status in self._ended():
                self._replace(worker, _describe_exit(status))

    def _start_again(self, worker: _Worker) -> None:
        try:
            self._start(worker)
        except OSError as error:  # no memory, or too many processes
            self._replace(worker, f"not started: {error.strerror}")

    def _replace(self, worker: _Worker, status: str) -> None:
        """Have a worker that ended started again, the sooner the longer it lived."""
        is_steady = worker.is_ready and time.monotonic() - worker.started_at > _STEADY_SECONDS
        worker.early_ends = 0 if is_steady else worker.early_ends + 1
        worker.failed_starts = 0 if worker.is_ready else worker.failed_starts + 1
        if worker.failed_starts >= MAX_FAILED_STARTS:
            raise WorkersFailed(
                f"Worker {worker.number} could not be started {worker.failed_starts} times in a "
                f"row ({status}), so the server stops. What it said on standard error tells why"
            )
        # The first time at once, then after 1, 2, 4 … seconds.
        ends = worker.early_ends
        wait = min(2.0 ** (ends - 2), _MAX_WAIT_SECONDS) if ends > 1 else 0.0
        worker.start_at = time.monotonic() + wait
        log.warning(
            "a worker process ended and is replaced",
            worker=worker.number,
            status=status,
            after_seconds=wait,
        )

    def _start(self, worker: _Worker) -> None:
        ready, tell_ready = os.pipe()
        worker.is_ready, worker.started_at = False, time.monotonic()
        parent = os.getpid()
        # A signal that comes now must not be taken by the parent's handlers in the worker.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                self._become(worker.number, parent, tell_ready)
        except OSError:
            os.close(ready)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(tell_ready)
        worker.pid, worker.ready_pipe = pid, ready

    def _become(self, number: int, parent: int, tell_ready: int) -> NoReturn:
        """Be a worker, in the process just forked, and end with it."""
        code = 1

        def tell() -> None:
            os.write(tell_ready, _READY)
            os.close(tell_ready)

        try:
            _detach_from_parent(parent)
            for other in self._workers:
                if other.ready_pipe is not None:
                    os.close(other.ready_pipe)
            self.serve(number, tell)
            code = 0
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        except Exception as error:  # a process's outermost frame
            reported = report_failure(error)
            if reported is None:
                log.exception("a worker process failed", worker=number)
            code = reported or 1
        finally:
            # Nothing of what the parent holds is to be released by a copy of it.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _wait(self, wakeup: int, seconds: float | None) -> None:
        """Wait for a signal, for a worker to be ready, or for so long."""
        pipes = {w.ready_pipe: w for w in self._workers if w.ready_pipe is not None}
        for found in select.select([wakeup, *pipes], [], [], seconds)[0]:
            if found == wakeup:
                os.read(wakeup, 4096)
                continue
            worker = pipes[found]
            worker.is_ready = os.read(found, 1) == _READY
            os.close(found)
            worker.ready_pipe = None

    def _ended(self) -> list[tuple[_Worker, int]]:
        """Return the workers that have ended since, and how."""
        ended = []
        for worker in self._workers:
            if worker.pid is None:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                worker.pid = None
                if worker.ready_pipe is not None:
                    os.close(worker.ready_pipe)
                    worker.ready_pipe = None
                self.on_end(worker.number)
                ended.append((worker, status))
        return ended

    def _stop(self) -> None:
        """Tell all workers to stop, and wait until they have; a second signal ends them at once."""
        if len(self._told) > 1:
            exit_by_signal(self._told[1])
        self.on_stop()
        for worker in self._workers:
            if worker.pid is not None:
                os.kill(worker.pid, signal.SIGTERM)
        giving_up = exit_after_timeout(self.stop_seconds)
        for number in _STOP_SIGNALS:
            signal.signal(number, lambda sig, _: exit_by_signal(sig))
        for worker in self._workers:
            if worker.pid is not None:
                _, status = os.waitpid(worker.pid, 0)
                worker.pid = None
                is_clean = os.waitstatus_to_exitcode(status) == -signal.SIGTERM
                self._exit_code = self._exit_code or (0 if is_clean else _exit_code(status))
        giving_up.cancel()


def _catch_signals(told: list[int]) -> int:
    """Note the signals to stop; return what can be read from whenever any signal came."""
    wakeup, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda sig, _: told.append(sig))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wakeup


def _detach_from_parent(parent: int) -> None:
    """Undo what a worker must not inherit, and have it stop when the parent ends."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
    # The terminal's Ctrl-C reaches its whole group; the parent alone is to tell workers to stop.
    os.setpgid(0, 0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _describe_exit(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


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
    "cinder.server.asgi",
    "cinder.server.forwarding",
    "uvicorn.protocols.http.httptools_impl",
)


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What makes a process one worker of a server."""

    group: WorkerGroup
    sockets: list[socket.socket]
    """Where it listens: for clients, then for the other workers."""
    notify_listening: Callable[[], None]


# Serves with the settings of one worker until it is told to stop.
ServeWorker = Callable[[Settings, WorkerContext], None]


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
        held.callback(_close_all, listeners)
        counts = ConnectionCounts(size)
        port = listeners[0].getsockname()[1]
        directory = held.enter_context(_shared_directory(settings.data_dir))
        groups = [WorkerGroup(number, size, directory) for number in range(size)]
        own = [_listen_for_workers(group.socket_path(group.number)) for group in groups]
        held.callback(_close_all, own)
        _preload(groups[0].metrics_directory)
        # Loaded with the rest, not before.
        from cinder.app.settings import worker_share

        def serve(number: int, notify_listening: Callable[[], None]) -> None:
            structlog.contextvars.bind_contextvars(worker=number)
            _close_all(own[:number] + own[number + 1 :])
            shared = [listener.share_fairly(counts, number) for listener in listeners]

            def tell() -> None:
                counts.enter(number)
                notify_listening()

            place = WorkerContext(groups[number], [*shared, own[number]], tell)
            serve_worker(worker_share(settings, number, size), place)

        def on_ready() -> None:
            held.enter_context(hold_port_lock(settings.data_dir, port))
            announce(port)

        processes = WorkerProcesses(
            size,
            serve,
            stop_seconds=stop_seconds + _PARENT_SECONDS,
            on_end=counts.leave,
            on_stop=lambda: _close_all(listeners),
        )
        return processes.run(on_ready)


@contextmanager
def _shared_directory(data_dir: Path) -> Iterator[Path]:
    """Make the directory that workers share, locked for as long as any of them lives."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_stale_directories(data_dir)
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


def _remove_stale_directories(data_dir: Path) -> None:
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


def _close_all(sockets: Sequence[socket.socket]) -> None:
    for each in sockets:
        each.close()
