"""Pools of browser workers: their size, the queue for them, and when workers are replaced."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Self

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.browser.cdp import CommandFailed
from cinder.browser.launcher import WorkerLauncher
from cinder.browser.profiles import ProfileLock
from cinder.browser.worker import BrowserWorker, ContextPurpose, WorkerTab
from cinder.errors import BrowserCrashed, BrowserUnavailable, Overloaded
from cinder.fair_queue import OWNER_REQUESTER, FairQueue, FairSlot, Requester
from cinder.models.request import Profile

_log: FilteringBoundLogger = structlog.get_logger()

_KEEPING_INTERVAL_SECONDS = 1
_RETURN_SECONDS = 0.3
_FIRST_BACKOFF_SECONDS = 1.0
_MAX_BACKOFF_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """How many workers a pool has, and how long to wait for one."""

    min_size: int = 0
    max_size: int = 4
    queue_timeout_seconds: float = 30
    max_waiting: int = 16
    """How many pages of waiting callers may queue; jobs limit their own."""
    max_starting: int = 2
    idle_seconds: float = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """The number of running and busy workers, and of waiting pages."""

    workers: int
    busy: int
    waiting: int


# Called when a worker is closed, with the reason: `pages`, `idle`, `unfit` or `stop`.
RecycleObserver = Callable[[str], None]


class BrowserWorkerPool(ABC):
    """Lends workers, each to one page at a time, up to the maximum size."""

    def __init__(self, launcher: WorkerLauncher, limits: PoolLimits) -> None:
        self._launcher = launcher
        self._limits = limits
        self._slots = FairQueue(limits.max_size)
        self._tasks = BackgroundTasks()
        self._waiting = 0
        self._waiting_for_callers = 0
        self._busy = 0
        self._returning: set[asyncio.Task[None]] = set()
        self.last_failure: BrowserUnavailable | None = None
        """Why the last browser did not start; None if it did."""

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__()

    @property
    @abstractmethod
    def state(self) -> PoolState:
        """The current state of the pool."""

    @asynccontextmanager
    async def borrow_tab(
        self,
        purpose: ContextPurpose,
        who: Requester = OWNER_REQUESTER,
        patience_seconds: float | None = None,
    ) -> AsyncIterator[WorkerTab]:
        """Lend a new tab of a free worker, and clean up after it in the background.

        The wait for it is limited by the pool's limits and by `patience_seconds`.

        Raises:
            Overloaded: no worker came free in time, or too many pages wait for one.
            BrowserUnavailable: no browser starts.
            ProfileLocked: another process uses the profile.
            BrowserCrashed: the browser opens no tab.
            ConnectionClosed: the browser ended.
        """
        slot = await self._take_slot(who, patience_seconds)
        async with AsyncExitStack() as return_slot:
            return_slot.callback(self._return_slot, slot)
            worker = await self._take_worker(purpose)
            tab: WorkerTab | None = None
            return_slot.pop_all()
            try:
                try:
                    tab = await self._open_tab(worker, purpose)
                except CommandFailed as error:
                    raise BrowserCrashed(f"The browser opened no tab: {error}") from error
                yield tab
            finally:
                returning = self._tasks.start(self._return_worker(worker, tab, slot))
                self._returning.add(returning)
                returning.add_done_callback(self._returning.discard)

    async def _take_slot(self, who: Requester, patience_seconds: float | None) -> FairSlot:
        seconds = self._limits.queue_timeout_seconds
        if patience_seconds is not None:
            seconds = min(seconds, patience_seconds)
        if not who.is_job and self._waiting_for_callers >= self._limits.max_waiting:
            raise Overloaded(
                f"{self._waiting_for_callers} pages wait for a browser, as many as may (setting "
                "browser.queue-max-waiting). Try again later."
            )
        self._waiting += 1
        self._waiting_for_callers += not who.is_job
        try:
            async with asyncio.timeout(seconds):
                slot = await self._slots.take(who)
        except TimeoutError:
            raise Overloaded(
                f"No browser came free within {seconds:g} s. Try again later, or raise "
                "browser.worker-pool-max-size-per-process."
            ) from None
        finally:
            self._waiting -= 1
            self._waiting_for_callers -= not who.is_job
        self._busy += 1
        return slot

    def _return_slot(self, slot: FairSlot) -> None:
        self._busy -= 1
        self._slots.give_back(slot)

    async def _return_worker(
        self, worker: BrowserWorker, tab: WorkerTab | None, slot: FairSlot
    ) -> None:
        try:
            if tab is None:  # cancelled while it was opened: its state is unknown
                worker.condemn(BrowserCrashed("A tab did not open"), "unopened tab")
            else:
                try:
                    await worker.close_tab(tab)
                except Exception:  # noqa: BLE001 - the worker is taken back all the same
                    _log.exception("tab not closed", pid=worker.pid)
                    worker.condemn(BrowserCrashed("A tab did not close"), "unclosed tab")
            await self._take_back(worker)
        except Exception:  # noqa: BLE001 - raised, it would cancel all other tasks
            _log.exception("browser not put back", pid=worker.pid)
        finally:
            self._return_slot(slot)

    @abstractmethod
    async def _take_worker(self, purpose: ContextPurpose) -> BrowserWorker:
        """Return a free worker, preferably one that is ready for the purpose."""

    @abstractmethod
    async def _open_tab(self, worker: BrowserWorker, purpose: ContextPurpose) -> WorkerTab:
        """Open a tab in the context that this pool uses."""

    @abstractmethod
    async def _take_back(self, worker: BrowserWorker) -> None:
        """Take back a worker whose tab has been closed."""


class DefaultBrowserWorkerPool(BrowserWorkerPool):
    """Isolated workers on disposable profiles; callers share no data."""

    def __init__(
        self, launcher: WorkerLauncher, limits: PoolLimits, observe: RecycleObserver
    ) -> None:
        super().__init__(launcher, limits)
        self._observe = observe
        self._idle: list[BrowserWorker] = []
        self._lent = 0
        self._takers = 0
        self._starts: set[asyncio.Task[None]] = set()
        self._failed_starts = 0
        self._next_start_at = 0.0
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._keeper = self._tasks.start(self._keep_size())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._keeper.cancel()
        for start in self._starts:
            start.cancel()
        await super().__aexit__()
        idle, self._idle = self._idle, []
        async with asyncio.TaskGroup() as closing:
            for worker in idle:
                closing.create_task(self._retire(worker, "stop"))

    @property
    def state(self) -> PoolState:
        """What the pool is doing now."""
        running = len(self._idle) + self._lent
        return PoolState(workers=running, busy=self._busy, waiting=self._waiting)

    async def _take_worker(self, purpose: ContextPurpose) -> BrowserWorker:
        if not self._idle and self._returning:
            # Cleaning up after a page takes a tenth of the time of starting a browser.
            await asyncio.wait(
                self._returning,
                timeout=_RETURN_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        self._takers += 1
        try:
            while (worker := self._pop_idle(purpose)) is None:
                if self.last_failure is not None and monotonic() < self._next_start_at:
                    raise BrowserUnavailable(self.last_failure.message)
                if len(self._starts) < self._takers:
                    self._begin_start()
                await self._changed.wait()
        finally:
            self._takers -= 1
        self._lent += 1
        return worker

    def _pop_idle(self, purpose: ContextPurpose) -> BrowserWorker | None:
        while self._idle:
            worker = next((w for w in self._idle if w.is_ready_for(purpose)), self._idle[-1])
            self._idle.remove(worker)
            if worker.is_fit:
                return worker
            self._tasks.start(self._retire(worker, "unfit"))
        return None

    def _begin_start(self) -> None:
        """Start a worker for the next page, unless enough are starting or running.

        The start belongs to the pool: it continues if the caller disconnects.
        """
        starting = len(self._starts)
        has_room = self.state.workers + starting < self._limits.max_size
        if has_room and starting < self._limits.max_starting:
            start = self._tasks.start(self._start_worker())
            self._starts.add(start)
            start.add_done_callback(self._starts.discard)
            start.add_done_callback(lambda _: self._notify())

    async def _start_worker(self) -> None:
        try:
            self._idle.append(await self._launcher.start())
            self.last_failure, self._failed_starts = None, 0
            return
        except BrowserUnavailable as error:
            self.last_failure = error
            _log.warning("browser not started", error=error.message)
        except Exception as error:  # noqa: BLE001 - raised, it would cancel all other tasks
            self.last_failure = BrowserUnavailable(f"The browser did not start: {error!r}")
            _log.error("browser not started", exc_info=error)
        # Refuse pages for a while: another start would fail as well.
        wait = min(_MAX_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2**self._failed_starts)
        self._failed_starts += 1
        self._next_start_at = monotonic() + wait

    def _notify(self) -> None:
        """Wake all who wait for a worker."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _open_tab(self, worker: BrowserWorker, purpose: ContextPurpose) -> WorkerTab:
        return await worker.open_tab(purpose)

    async def _take_back(self, worker: BrowserWorker) -> None:
        try:
            if not worker.is_fit:
                await self._retire(worker, "unfit" if worker.failure else "pages")
        finally:
            self._lent -= 1
            if worker.is_fit:
                self._idle.append(worker)
            self._notify()

    async def _retire(self, worker: BrowserWorker, reason: str) -> None:
        try:
            self._observe(reason)
            await self._launcher.close(worker)
        except Exception:  # noqa: BLE001 - raised, it would cancel all other tasks
            _log.exception("browser not closed", pid=worker.pid)

    async def _keep_size(self) -> None:
        """Keep the minimum number of workers ready, and close idle ones, until cancelled."""
        while True:
            for worker in [worker for worker in self._idle if not worker.is_fit]:
                self._idle.remove(worker)
                await self._retire(worker, "unfit")
            oldest = monotonic() - self._limits.idle_seconds
            for worker in [w for w in self._idle if w.idle_since < oldest]:
                # It may have been lent while the one before was closed.
                if worker in self._idle and self.state.workers > self._limits.min_size:
                    self._idle.remove(worker)
                    await self._retire(worker, "idle")
            least = min(self._limits.min_size, self._limits.max_size)
            missing = least - self.state.workers - len(self._starts)
            for _ in range(missing if monotonic() >= self._next_start_at else 0):
                self._begin_start()
            await asyncio.sleep(_KEEPING_INTERVAL_SECONDS)


class MasterBrowserWorkerPool(BrowserWorkerPool):
    """One worker on a person's profile, for one page at a time among all processes.

    The browser runs, and the profile's lock is held, only while pages are requested: a person can
    log in while the server runs.
    """

    def __init__(self, launcher: WorkerLauncher, lock: ProfileLock, limits: PoolLimits) -> None:
        super().__init__(launcher, replace(limits, max_size=1))
        self._lock = lock
        self._held = AsyncExitStack()
        self._worker: BrowserWorker | None = None
        self._is_closing = False

    @property
    def state(self) -> PoolState:
        """What the pool is doing now."""
        return PoolState(workers=self._worker is not None, busy=self._busy, waiting=self._waiting)

    async def _take_worker(self, purpose: ContextPurpose) -> BrowserWorker:  # noqa: ARG002 - there is one
        if self._worker is not None and not self._worker.is_fit:  # it ended in between
            await self._close()
        if self._worker is None:
            await self._held.enter_async_context(self._lock.hold())
            try:
                self._worker = await self._launcher.start()
            except BaseException as error:
                if isinstance(error, BrowserUnavailable):
                    self.last_failure = error
                await self._held.aclose()
                raise
            self.last_failure = None
        return self._worker

    async def _open_tab(self, worker: BrowserWorker, purpose: ContextPurpose) -> WorkerTab:
        return await worker.open_own_tab(purpose)

    async def _take_back(self, worker: BrowserWorker) -> None:
        if not self._waiting or not worker.is_fit:
            await self._close()
        elif not self._is_closing:
            self._is_closing = True
            self._tasks.start(self._close_when_unused())

    async def _close_when_unused(self) -> None:
        """Close the browser after the waiting pages, even if they stop waiting."""
        while self._is_closing:
            async with self._slots.hold(OWNER_REQUESTER):
                if not self._waiting:
                    self._is_closing = False
                    try:
                        await self._close()
                    except Exception:  # noqa: BLE001 - raised, it would cancel all other tasks
                        _log.exception("browser not closed", profile=str(Profile.MASTER))

    async def _close(self) -> None:
        worker, self._worker = self._worker, None
        try:
            if worker is not None:
                await self._launcher.close(worker)
        finally:
            await self._held.aclose()
