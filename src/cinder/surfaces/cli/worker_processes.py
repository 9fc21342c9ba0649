"""The parent of a server's worker processes: it binds, starts them, replaces them and stops them.

It serves nothing itself, runs no event loop and no thread: so it can fork at any time, and a worker
begins with everything that the parent has loaded.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import structlog

from cinder.surfaces.cli.failures import report
from cinder.surfaces.cli.stopping import end_by_signal, end_unless_done

# Failed starts in a row after which the server stops: whoever runs it is to look.
MAX_FAILED_STARTS = 5
# A worker that lived for so long may be replaced at once.
_STEADY_SECONDS = 30
_MAX_WAIT_SECONDS = 30
_PR_SET_PDEATHSIG = 1
_READY = b"r"
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

# Serves as the worker of a number until it is told to stop, and calls back once it listens.
Serve = Callable[[int, Callable[[], None]], None]

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
    serve: Serve
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
                self._replace(worker, _describe(status))

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
            _leave_parent(parent)
            for other in self._workers:
                if other.ready_pipe is not None:
                    os.close(other.ready_pipe)
            self.serve(number, tell)
            code = 0
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        except Exception as error:  # a process's outermost frame
            reported = report(error)
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
            end_by_signal(self._told[1])
        self.on_stop()
        for worker in self._workers:
            if worker.pid is not None:
                os.kill(worker.pid, signal.SIGTERM)
        giving_up = end_unless_done(self.stop_seconds)
        for number in _STOP_SIGNALS:
            signal.signal(number, lambda sig, _: end_by_signal(sig))
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


def _leave_parent(parent: int) -> None:
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


def _describe(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
