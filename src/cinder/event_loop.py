"""The event loop's health: how late it runs its callbacks, and which code blocked it."""

import asyncio
import sys
import threading
import time
from pathlib import Path
from traceback import extract_stack
from types import FrameType
from typing import Self

import structlog
from structlog.typing import FilteringBoundLogger

_log: FilteringBoundLogger = structlog.get_logger()

_BEAT_SECONDS = 0.025
_POLL_SECONDS = 0.05
_BLOCKED_SECONDS = 0.1
_SHOWN_FRAMES = 8
_HANDLES = asyncio.Handle._run.__code__.co_filename


class LoopMonitor:
    """Measures the lag of the running event loop, and logs which callback blocks it.

    A timer is due every 25 ms; the lag is how late it runs. Many short callbacks delay it as well,
    so a thread checks whether a single callback runs for long. Time during which the operating
    system gave the loop's thread no CPU does not count.
    """

    def __init__(self, *, start_up_seconds: float = 5) -> None:
        """Log callbacks that run for long, except while the process starts up."""
        self._start_up_seconds = start_up_seconds
        self._last_lag = 0.0
        self._closed = threading.Event()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._schedstat = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._due = self._loop.time()
        self._beat()
        self._watcher = threading.Thread(target=self._watch, name="loop-monitor", daemon=True)
        self._watcher.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed.set()
        self._timer.cancel()
        self._watcher.join()

    @property
    def lag_seconds(self) -> float:
        """How late the loop is now."""
        return max(self._last_lag, self._loop.time() - self._due)

    def _beat(self) -> None:
        now = self._loop.time()
        self._last_lag = max(0.0, now - self._due)
        self._due = now + _BEAT_SECONDS
        self._timer = self._loop.call_at(self._due, self._beat)

    def _watch(self) -> None:
        """Log each callback that blocks the loop, until the monitor is closed."""
        seen: FrameType | None = None
        since = starved = 0.0
        is_logged = False
        is_over = self._closed.wait(self._start_up_seconds)
        while not is_over:
            running = self._running_callback()
            if running is not seen:
                seen, since, starved = running, time.monotonic(), self._starved_seconds()
                is_logged = False
            elif running is not None and not is_logged:
                waited_for_cpu = self._starved_seconds() - starved
                seconds = time.monotonic() - since - waited_for_cpu
                if seconds >= _BLOCKED_SECONDS:
                    is_logged = True
                    frame = sys._current_frames().get(self._thread_id)
                    stack = extract_stack(frame)[-_SHOWN_FRAMES:] if frame is not None else []
                    at = " > ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in stack)
                    _log.warning("event loop blocked", seconds=round(seconds, 3), at=at)
            is_over = self._closed.wait(_POLL_SECONDS)

    def _running_callback(self) -> FrameType | None:
        """Return the frame in which asyncio runs a callback; None while the loop is idle."""
        frame = sys._current_frames().get(self._thread_id)
        found = None
        while frame is not None:
            if frame.f_code.co_name == "_run" and frame.f_code.co_filename == _HANDLES:
                found = frame
            frame = frame.f_back
        return found

    def _starved_seconds(self) -> float:
        """Return how long the loop's thread has been runnable without a CPU, since its start."""
        try:
            return int(self._schedstat.read_text().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0  # only Linux reports it
