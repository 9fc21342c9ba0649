"""Pools of browser workers: how many run, who may use one, and when used ones are replaced."""

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
    """How many workers a pool has and how long it is waited for one."""

    min_size: int = 0
    max_size: int = 4
    queue_timeout_seconds: float = 30
    max_waiting: int = 16
    """How many pages that somebody waits for may queue; jobs bound their own."""
    max_starting: int = 2
    idle_seconds: float = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """What a pool is doing."""

    workers: int
    busy: int
    waiting: int


# Called when a worker is closed for good: `pages`, `idle`, `unfit` or `stop`.
RecycleObserver = Callable[[str], None]


class BrowserWorkerPool(ABC):
    """Lends out workers, one page at a time each, and never more than it has room for."""

    def __init__(self, launcher: WorkerLauncher, limits: PoolLimits) -> None:
        self._launcher = launcher
        self._limits = limits
        self._room = FairQueue(limits.max_size)
        self._tasks = BackgroundTasks()
        self._waiting = 0
        self._waiting_for_callers = 0
        self._busy = 0
        self._returning: set[asyncio.Task[None]] = set()
        self.last_failure: BrowserUnavailable | None = None
        """Why the last browser did not start; None where it did."""

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__()

    @property
    @abstractmethod
    def state(self) -> PoolState:
        """What the pool is doing now."""

    @asynccontextmanager
    async def borrow_tab(
        self,
        purpose: ContextPurpose,
        who: Requester = OWNER_REQUESTER,
        patience_seconds: float | None = None,
    ) -> AsyncIterator[WorkerTab]:
        """Lend a fresh tab of a free worker, and clear up after it in the background.

        It is waited for as long as the limits say, or as the patience, if that is less.

        Raises:
            Overloaded: no worker came free in time, or too many pages wait for one.
            BrowserUnavailable: no browser starts.
            ProfileLocked: another process uses the profile.
            BrowserCrashed: the browser opens no tab.
            ConnectionClosed: the browser ended.
        """
        place = await self._take_room(who, patience_seconds)
        async with AsyncExitStack() as return_room:
            return_room.callback(self._give_room_back, place)
            worker = await self._take_worker(purpose)
            tab: WorkerTab | None = None
            return_room.pop_all()
            try:
                tab = await self._open(worker, purpose)
                yield tab
            finally:
                returning = self._tasks.start(self._put_back(worker, tab, place))
                self._returning.add(returning)
                returning.add_done_callback(self._returning.discard)

    async def _open(self, worker: BrowserWorker, purpose: ContextPurpose) -> WorkerTab:
        try:
            return await self._open_tab(worker, purpose)
        except CommandFailed as error:
            raise BrowserCrashed(f"The browser opened no tab: {error}") from error

    async def _take_room(self, who: Requester, patience_seconds: float | None) -> FairSlot:
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
                place = await self._room.take(who)
        except TimeoutError:
            raise Overloaded(
                f"No browser came free within {seconds:g} s. Try again later, or raise "
                "browser.worker-pool-max-size-per-process."
            ) from None
        finally:
            self._waiting -= 1
            self._waiting_for_callers -= not who.is_job
        self._busy += 1
        return place

    def _give_room_back(self, place: FairSlot) -> None:
        self._busy -= 1
        self._room.give_back(place)

    async def _put_back(
        self, worker: BrowserWorker, tab: WorkerTab | None, place: FairSlot
    ) -> None:
        try:
            await self._close_tab(worker, tab)
            await self._take_back(worker)
        except Exception:  # noqa: BLE001 - raised it would end all that runs beside it
            _log.exception("browser not put back", pid=worker.pid)
        finally:
            self._give_room_back(place)

    async def _close_tab(self, worker: BrowserWorker, tab: WorkerTab | None) -> None:
        if tab is None:  # cut off while it was opened: its state is unknown
            worker.condemn(BrowserCrashed("A tab did not open"), "unopened tab")
            return
        try:
            await worker.close_tab(tab)
        except Exception:  # noqa: BLE001 - the worker is to be taken back all the same
            _log.exception("tab not closed", pid=worker.pid)
            worker.condemn(BrowserCrashed("A tab did not close"), "unclosed tab")

    @abstractmethod
    async def _take_worker(self, purpose: ContextPurpose) -> BrowserWorker:
        """Return a worker that is free, one that is ready for the purpose if there is one."""

    @abstractmethod
    async def _open_tab(self, worker: BrowserWorker, purpose: ContextPurpose) -> WorkerTab:
        """Open a tab where this pool's pages belong."""

    @abstractmethod
    async def _take_back(self, worker: BrowserWorker) -> None:
        """Take a worker whose tab has been closed."""


class DefaultBrowserWorkerPool(BrowserWorkerPool):
    """Isolated workers on throw-away profiles; nothing of one caller is there for the next."""

    def __init__(
        self,
        launcher: WorkerLauncher,
        limits: PoolLimits,
        observe: RecycleObserver,
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
            # Clearing up after a page takes a tenth of what a new browser would.
            await asyncio.wait(
                self._returning,
                timeout=_RETURN_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        self._takers += 1
        try:
            while (worker := self._take_idle(purpose)) is None:
                if self.last_failure is not None and monotonic() < self._next_start_at:
                    raise BrowserUnavailable(self.last_failure.message)
                if len(self._starts) < self._takers:
                    self._begin_start()
                await self._changed.wait()
        finally:
            self._takers -= 1
        self._lent += 1
        return worker

    def _take_idle(self, purpose: ContextPurpose) -> BrowserWorker | None:
        while self._idle:
            worker = next((w for w in self._idle if w.is_ready_for(purpose)), self._idle[-1])
            self._idle.remove(worker)
            if worker.is_fit:
                return worker
            self._tasks.start(self._retire(worker, "unfit"))
        return None

    def _begin_start(self) -> None:
        """Start a worker for the first page that takes it, unless enough start or run.

        The start belongs to the pool: a caller who leaves meanwhile does not end the browser.
        """
        starting = len(self._starts)
        has_room = self.state.workers + starting < self._limits.max_size
        if has_room and starting < self._limits.max_starting:
            start = self._tasks.start(self._start_worker())
            self._starts.add(start)
            start.add_done_callback(self._note_started)

    async def _start_worker(self) -> None:
        try:
            self._idle.append(await self._launcher.start())
        except Exception as error:  # noqa: BLE001 - raised it would end all that runs beside it
            self._note_failed_start(error)
        else:
            self.last_failure, self._failed_starts = None, 0

    def _note_failed_start(self, error: Exception) -> None:
        """Refuse pages for a while: what did not start just now would not start either."""
        if isinstance(error, BrowserUnavailable):
            self.last_failure = error
            _log.warning("browser not started", error=error.message)
        else:
            self.last_failure = BrowserUnavailable(f"The browser did not start: {error!r}")
            _log.error("browser not started", exc_info=error)
        wait = min(_MAX_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2**self._failed_starts)
        self._failed_starts += 1
        self._next_start_at = monotonic() + wait

    def _note_started(self, start: asyncio.Task[None]) -> None:
        self._starts.discard(start)
        self._note_change()

    def _note_change(self) -> None:
        """Have those who wait for a worker look again."""
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
            self._note_change()

    async def _retire(self, worker: BrowserWorker, reason: str) -> None:
        try:
            self._observe(reason)
            await self._launcher.close(worker)
        except Exception:  # noqa: BLE001 - raised it would end all that runs beside it
            _log.exception("browser not closed", pid=worker.pid)

    async def _keep_size(self) -> None:
        """Keep the least number of workers ready and let go of those long idle, until stopped."""
        while True:
            for worker in [worker for worker in self._idle if not worker.is_fit]:
                self._idle.remove(worker)
                await self._retire(worker, "unfit")
            await self._close_long_idle()
            self._fill_up()
            await asyncio.sleep(_KEEPING_INTERVAL_SECONDS)

    async def _close_long_idle(self) -> None:
        oldest = monotonic() - self._limits.idle_seconds
        for worker in [w for w in self._idle if w.idle_since < oldest]:
            # While the one before was closed, this one may have been lent.
            if worker in self._idle and self.state.workers > self._limits.min_size:
                self._idle.remove(worker)
                await self._retire(worker, "idle")

    def _fill_up(self) -> None:
        least = min(self._limits.min_size, self._limits.max_size)
        missing = least - self.state.workers - len(self._starts)
        if monotonic() >= self._next_start_at:
            for _ in range(missing):
                self._begin_start()


class MasterBrowserWorkerPool(BrowserWorkerPool):
    """One worker on a person's profile, for one page at a time among all processes.

    The browser runs, and the profile's lock is held, only while somebody waits for a page: a
    person who wants to log in must not wait for a server to stop.
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
        """Close the browser behind those who wait for it, even if they give up waiting."""
        while self._is_closing:
            async with self._room.hold(OWNER_REQUESTER):
                if not self._waiting:
                    self._is_closing = False
                    await self._close_for_good()

    async def _close_for_good(self) -> None:
        try:
            await self._close()
        except Exception:  # noqa: BLE001 - raised it would end all that runs beside it
            _log.exception("browser not closed", profile=str(Profile.MASTER))

    async def _close(self) -> None:
        worker, self._worker = self._worker, None
        try:
            if worker is not None:
                await self._launcher.close(worker)
        finally:
            await self._held.aclose()
