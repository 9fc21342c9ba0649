"""The worker processes of `cinder serve --workers`: forked, replaced and stopped by one parent.

The parent serves nothing and runs neither an event loop nor a thread, so it can fork at any time,
and workers share the memory of all modules that it has imported.
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

from cinder.api.errors import report_failure
from cinder.config.settings import Settings
from cinder.errors import SettingsError
from cinder.server.local_access import hold_port_lock
from cinder.server.process_control import exit_after_timeout, exit_by_signal
from cinder.server.shared_listener import ConnectionCounts, SharedListener
from cinder.worker_group import WorkerGroup

# The server stops after so many failed starts in a row.
MAX_FAILED_STARTS = 5
# A worker that ran for so long is replaced at once.
_STEADY_SECONDS = 30
_MAX_WAIT_SECONDS = 30
_PR_SET_PDEATHSIG = 1
_READY = b"r"
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

# Serves as the worker with this number until it is stopped, and calls back once it listens.
RunWorker = Callable[[int, Callable[[], None]], None]

log = structlog.get_logger()


class WorkersFailed(OSError):
    """The workers cannot be kept running."""


@dataclass(slots=True)
class _Worker:
    """A worker, and its current process."""

    number: int
    pid: int | None = None
    ready_pipe: int | None = None
    """The worker writes to it when it listens; None after that, and after its end."""
    is_ready: bool = False
    started_at: float = 0
    start_at: float = 0
    """When to start the next process."""
    early_ends: int = 0
    """How often in a row it ended soon after its start."""
    failed_starts: int = 0
    """How often in a row it ended before it listened."""


@dataclass(slots=True)
class WorkerProcesses:
    """Keeps a number of workers running until the process is stopped."""

    count: int
    serve: RunWorker
    stop_seconds: float
    """How long the workers may take to stop; then they are killed."""
    on_end: Callable[[int], None]
    """Called with the number of a worker that has ended."""
    on_stop: Callable[[], None]
    """Called before the workers are stopped."""
    _workers: list[_Worker] = field(default_factory=list)
    _stop_signals: list[int] = field(default_factory=list)
    """The received signals to stop."""
    _exit_code: int = 0

    def run(self, on_ready: Callable[[], None]) -> int:
        """Start the workers, call back once all of them listen, and return the exit code.

        Raises:
            WorkersFailed: a worker failed to start too often.
        """
        self._workers = [_Worker(number) for number in range(self.count)]
        wakeup, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in _STOP_SIGNALS:
            signal.signal(number, lambda sig, _: self._stop_signals.append(sig))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            # The first worker starts alone: an error that affects all of them is shown once.
            first, others = self._workers[:1], self._workers[1:]
            if self._start_and_wait(first, wakeup) and self._start_and_wait(others, wakeup):
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
                # The worker has logged the reason.
                self._exit_code = self._exit_code or _exit_code(status) or 1
            if self._stop_signals or self._exit_code:
                return False
        return True

    def _keep_running(self, wakeup: int) -> None:
        while not self._stop_signals:
            now = time.monotonic()
            due = [w for w in self._workers if w.pid is None and w.start_at <= now]
            for worker in due:
                try:
                    self._start(worker)
                except OSError as error:  # no memory, or too many processes
                    self._replace(worker, f"not started: {error.strerror}")
            waits = [worker.start_at - now for worker in self._workers if worker.pid is None]
            self._wait(wakeup, max(0.0, min(waits)) if waits and not due else None)
            for worker, status in self._ended():
                code = os.waitstatus_to_exitcode(status)
                killed = f"killed by {signal.Signals(-code).name}" if code < 0 else None
                self._replace(worker, killed or f"exit code {code}")

    def _replace(self, worker: _Worker, status: str) -> None:
        """Schedule the next start of a worker that ended: later after each early end."""
        is_steady = worker.is_ready and time.monotonic() - worker.started_at > _STEADY_SECONDS
        worker.early_ends = 0 if is_steady else worker.early_ends + 1
        worker.failed_starts = 0 if worker.is_ready else worker.failed_starts + 1
        if worker.failed_starts >= MAX_FAILED_STARTS:
            raise WorkersFailed(
                f"Worker {worker.number} could not be started {worker.failed_starts} times in a "
                f"row ({status}), so the server stops. Standard error has the reason"
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
        # The parent's handlers must not run in the worker.
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
        """Run the worker in the forked process, and exit."""
        code = 1

        def tell() -> None:
            os.write(tell_ready, _READY)
            os.close(tell_ready)

        try:
            # Reset the signal handlers of the parent, and stop when the parent ends.
            signal.set_wakeup_fd(-1)
            for sig in (signal.SIGCHLD, *_STOP_SIGNALS):
                signal.signal(sig, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            # Ctrl-C reaches the whole process group of the terminal; only the parent stops workers.
            os.setpgid(0, 0)
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
                if os.getppid() != parent:
                    os._exit(1)
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
            # The worker must not release the resources of the parent.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _wait(self, wakeup: int, seconds: float | None) -> None:
        """Wait for a signal, a ready worker, or the timeout."""
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
        """Return the workers that have ended, with their wait status."""
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
        """Stop all workers and wait for them; a second signal kills them."""
        if len(self._stop_signals) > 1:
            exit_by_signal(self._stop_signals[1])
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


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


BACKLOG = 2048
_DIRECTORY_PREFIX = "workers-"
# The shortest limit of a Unix socket's path on any system.
_MAX_SOCKET_PATH = 100
# The parent waits so much longer than the workers may take.
_PARENT_SECONDS = 5
# Imported before the fork, so that workers share the memory.
_PRELOADED = (
    "cinder.app.composition",
    "cinder.app.rate_limits",
    "cinder.app.group_metrics",
    "cinder.server.asgi",
    "cinder.server.forwarding",
    "uvicorn.protocols.http.httptools_impl",
)


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The group, sockets and callback of one worker."""

    group: WorkerGroup
    sockets: list[socket.socket]
    """For clients, and for the other workers."""
    notify_listening: Callable[[], None]


# Serves with the settings of one worker until it is stopped.
ServeWorker = Callable[[Settings, WorkerContext], None]


def serve_with_workers(
    settings: Settings,
    listeners: Sequence[SharedListener],
    serve_worker: ServeWorker,
    announce: Callable[[int], None],
    *,
    stop_seconds: float,
) -> int:
    """Serve with several processes until stopped; return the exit code.

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
        own = []
        for group in groups:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            own.append(listener)
            listener.bind(str(group.socket_path(group.number)))
            listener.listen(BACKLOG)
            listener.setblocking(False)
        held.callback(_close_all, own)
        _preload(groups[0].metrics_directory)
        # Imported after `_preload` has set up the metrics.
        from cinder.app.settings import worker_share

        def serve(number: int, notify_listening: Callable[[], None]) -> None:
            structlog.contextvars.bind_contextvars(worker=number)
            _close_all(own[:number] + own[number + 1 :])
            shared = [listener.share_fairly(counts, number) for listener in listeners]

            def tell() -> None:
                counts.enter(number)
                notify_listening()

            context = WorkerContext(groups[number], [*shared, own[number]], tell)
            serve_worker(worker_share(settings, number, size), context)

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
    """Make the directory that workers share, locked while any of them runs."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Remove the directories of servers that were killed.
    for stale in data_dir.glob(f"{_DIRECTORY_PREFIX}*"):
        with suppress(OSError):
            lock = os.open(stale, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(stale)
            finally:
                os.close(lock)
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


def _preload(metrics_directory: Path) -> None:
    """Import what workers need, with metrics in the shared directory."""
    metrics_directory.mkdir()
    # prometheus_client reads it on import and for each new metric.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics_directory)  # noqa: TID251
    for module in _PRELOADED:
        import_module(module)
    # The collector does not write to frozen objects, so workers share their memory.
    gc.freeze()


def _close_all(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()
