"""The pool of sandbox child processes: starts, lends, kills and replaces them."""

import asyncio
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

import structlog

from cinder.background import BackgroundTasks
from cinder.errors import CinderError, ParseLimitExceeded, ParseTimeout
from cinder.fair_queue import OWNER_REQUESTER, Requester
from cinder.models.url import host_and_port
from cinder.sandbox.lanes import Lane, LaneLimits, Lanes, LaneSlot
from cinder.sandbox.messages import (
    PREFIX_BYTES,
    MalformedMessage,
    Message,
    read_sizes,
)

# Starting takes less than a CPU second, of which a busy machine may give little.
_START_TIMEOUT_SECONDS = 120.0
_STREAM_BUFFER_BYTES = 1024 * 1024
# Low enough for ordinary pages to go first, and no lower: other work must not starve a slow page.
LOW_PRIORITY = 2

# Checks whether a child has ended, and leaves its exit status to the event loop.
_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT if sys.platform == "linux" else 0

# A child that died closes its pipe; a compromised one may send anything.
WORKER_FAILURES = (EOFError, OSError, MalformedMessage)


class ExtractionWorker:
    """A child process; it does one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.jobs_done = 0

    @classmethod
    async def start(cls, memory_bytes: int, scorer: Path | None = None) -> Self:
        """Start a child; it sends `ready` when it can take a job."""
        scorer_argument = () if scorer is None else (str(scorer),)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-X", "utf8", "-m", "cinder.sandbox"),
            *(str(memory_bytes), str(os.getpid()), *scorer_argument),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            limit=_STREAM_BUFFER_BYTES,
        )
        if sys.platform != "win32" and os.getpriority(os.PRIO_PROCESS, 0) < 0:
            # Children inherit the server's priority, but answering requests comes before parsing.
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, process.pid, 0)
        return cls(process)

    async def await_ready(self) -> None:
        """Wait until the child has loaded its modules."""
        async with asyncio.timeout(_START_TIMEOUT_SECONDS):
            await self._receive()

    async def run(self, job: Message) -> Message:
        """Run a job and return the answer."""
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        self._process.stdin.writelines(job.frame())
        await self._process.stdin.drain()
        answer = await self._receive()
        self.jobs_done += 1
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether the child runs; asks the system, which knows before the event loop does."""
        if self._process.returncode is not None or sys.platform != "linux":
            return self._process.returncode is None
        try:
            return os.waitid(os.P_PID, self._process.pid, _PEEK) is None
        except ChildProcessError:
            return False

    @property
    def cpu_seconds(self) -> float:
        """The CPU time that the child has used; the wall time where the system does not tell."""
        if sys.platform != "linux":
            return time.monotonic()
        try:
            # The id of a process's CPU clock, as clock_getcpuclockid(3) computes it.
            return time.clock_gettime(~self._process.pid << 3 | 2)
        except OSError:
            return 0.0

    def lower_priority(self) -> None:
        """Let everything else run first; raising the priority again would need privileges."""
        if sys.platform != "win32" and self.is_alive:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOW_PRIORITY)

    def kill(self) -> None:
        """End the child at once; waiting for its answer raises `EOFError`."""
        # Killing an ended child would take its exit status from the event loop, which warns.
        if self.is_alive:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """Kill the child and release its resources."""
        self.kill()
        # This also reads the rest of the pipe: an unread pipe would keep its transport open.
        await self._process.communicate()

    async def _receive(self) -> Message:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        read = self._process.stdout.readexactly
        kind_bytes, content_bytes = read_sizes(await read(PREFIX_BYTES))
        try:
            kind = (await read(kind_bytes)).decode()
        except UnicodeDecodeError as exc:
            raise MalformedMessage("The kind cannot be decoded") from exc
        return Message(kind, await read(content_bytes))


_MIN_CHECK_SECONDS = 0.02

T = TypeVar("T")

log = structlog.get_logger()


class _Evicted(Exception):
    """A job took long while the slow lane was full, and lost its slot."""


class _CpuLimitReached(Exception):
    """A job used all the CPU time that it may use."""


class _Watch:
    """Calls back once a worker has used so much CPU time; a busy machine makes no job slow."""

    def __init__(
        self, worker: ExtractionWorker, seconds: float, callback: Callable[[], None]
    ) -> None:
        self._worker = worker
        self._limit = worker.cpu_seconds + seconds
        self._callback = callback
        self.is_over = False
        self._schedule(seconds)

    def stop(self) -> None:
        """Cancel the next check."""
        self._timer.cancel()

    def _check(self) -> None:
        left = self._limit - self._worker.cpu_seconds
        if left > 0:
            self._schedule(left)
        else:
            self.is_over = True
            self._callback()

    def _schedule(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(seconds, _MIN_CHECK_SECONDS), self._check)


@contextmanager
def _cpu_limit(worker: ExtractionWorker, seconds: float) -> Iterator[None]:
    """Kill a worker once its job has used so much CPU time.

    Raises:
        _CpuLimitReached: it was killed.
    """
    watch = _Watch(worker, seconds, worker.kill)
    try:
        yield
    except WORKER_FAILURES:
        if watch.is_over:
            raise _CpuLimitReached from None
        raise
    finally:
        watch.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLane:
    """When a job counts as slow, how many of those run at once, and how many may wait.

    Without workers there is no such lane: a job stays in the quick lane.
    """

    after_seconds: float = 0.5
    workers: int = 2
    waiting: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOptions:
    """The options of the child processes."""

    jobs_per_worker: int = 1_000
    scorer: Path | None = None
    """The file of the main-content scorer; None for the one that comes with the package."""
    settings: str = "scrape.extract"
    """The prefix of the settings that error messages name."""
    wall_seconds: float = 120
    """How long a job may take, however little of the CPU it gets."""


class WorkerPool:
    """A bounded number of child processes, started when first needed.

    A job that runs for long moves to the slow lane: its child no longer counts towards `workers`,
    has a low priority, and ends with the job. Where that lane is full, the job is ended and starts
    again once there is room, so that ordinary pages never wait for it.

    A child is killed when a job exceeds its time or its caller goes away. It is replaced after
    that, after it died, and after a number of jobs, in case it leaks memory.
    """

    def __init__(
        self,
        workers: int,
        timeout_seconds: float,
        memory_bytes: int,
        *,
        slow: SlowLane | None = None,
        children: ChildOptions | None = None,
        count: Callable[[str], None] = lambda _event: None,
    ) -> None:
        """Start nothing yet; `count` is called for each job that moved, was put off or failed.

        Jobs have a limit on CPU time, because a busy machine must not cost a page its content.
        """
        self._workers = workers
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self._slow = slow or SlowLane()
        self._children = children or ChildOptions()
        self._count = count
        self._lanes = Lanes(
            LaneLimits(quick=workers, slow=self._slow.workers, slow_waiting=self._slow.waiting)
        )
        self._idle: list[ExtractionWorker] = []
        # The slots whose jobs have a child.
        self._lent: list[LaneSlot] = []
        self._alive: set[ExtractionWorker] = set()
        self._replacing = BackgroundTasks()
        self.is_closed = False
        """Whether the pool is closed and runs no more jobs."""

    async def __aenter__(self) -> Self:
        await self._replacing.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_closed = True
        self._replacing.cancel_all()
        for worker in self._alive:
            worker.kill()
        # A job that still waits for a killed child fails, and gives its slot back.
        await self._lanes.wait_until_empty()
        await self._replacing.__aexit__()
        for worker in tuple(self._alive):
            await self._end(worker)

    @property
    def is_busy(self) -> bool:
        """Whether every child for ordinary pages has a job, so that the next one waits."""
        return self._lanes.count_running(Lane.QUICK) >= self._workers

    def count_jobs(self, lane: str, state: str) -> int:
        """Return how many jobs are `running` or `waiting` in a lane."""
        lanes = self._lanes
        return (lanes.count_running if state == "running" else lanes.count_waiting)(Lane(lane))

    def recent_wait(self) -> float:
        """Return for how many seconds ordinary pages wait at present."""
        return self._lanes.recent_wait(Lane.QUICK)

    async def run(
        self,
        work: Callable[[ExtractionWorker], Awaitable[T]],
        url: str | None,
        who: Requester = OWNER_REQUESTER,
    ) -> T:
        """Lend a child to a job on the page of a URL, and return the job's result.

        Raises:
            ParseTimeout: it took too long.
            ParseLimitExceeded: it took too much memory.
            Overloaded: too many slow pages wait already.
        """
        prefix = self._children.settings
        try:
            site = ":".join(map(str, host_and_port(url))) if url else ""
            return await self._run(work, LaneSlot(Lane.QUICK, site, who))
        except (_CpuLimitReached, TimeoutError) as limit:
            self._count("timed_out")
            if isinstance(limit, TimeoutError):
                most = f"{self._children.wall_seconds:g} s (setting scrape.extract-wall-seconds)"
            else:
                most = f"{self._timeout_seconds:g} CPU seconds (setting {prefix}-timeout-seconds)"
            raise ParseTimeout(
                f"Turning {url or 'the HTML'} into content took longer than {most}.", url=url
            ) from None
        except WORKER_FAILURES as exc:
            self._count("died")
            raise ParseLimitExceeded(
                f"Turning {url or 'the HTML'} into content failed, most likely because it needs "
                f"more than {self._memory_bytes} bytes of memory (setting {prefix}-memory-bytes).",
                url=url,
            ) from exc

    async def start_all(self) -> None:
        """Start all children for ordinary pages, before the first job."""
        missing = max(0, self._spare_workers)
        await asyncio.gather(*(self._replace_worker() for _ in range(missing)))

    async def _run(
        self, work: Callable[[ExtractionWorker], Awaitable[T]], requested: LaneSlot
    ) -> T:
        try:
            entering = self._lanes.enter(requested.lane, requested.site, requested.who)
            async with entering as slot, self._borrow(slot) as worker:
                async with asyncio.timeout(self._children.wall_seconds):
                    with (
                        _cpu_limit(worker, self._timeout_seconds),
                        self._watched(slot, worker),
                    ):
                        return await work(worker)
        except _Evicted:
            self._count("put_off")
            self._begin_to_replace()
        return await self._run(work, replace(requested, lane=Lane.SLOW))

    @contextmanager
    def _watched(self, slot: LaneSlot, worker: ExtractionWorker) -> Iterator[None]:
        """Take a job out of the quick lane when it has run for long.

        Raises:
            _Evicted: the slow lane had no room for it.
        """
        if slot.lane is Lane.SLOW or not self._slow.workers:
            yield
            return

        def take_out() -> None:
            if self._lanes.move_to_slow(slot):
                self._count("moved")
                worker.lower_priority()
                self._begin_to_replace()
            else:
                worker.kill()

        watch = _Watch(worker, self._slow.after_seconds, take_out)
        try:
            yield
        except WORKER_FAILURES:
            if watch.is_over and slot.lane is Lane.QUICK:
                raise _Evicted from None
            raise
        finally:
            watch.stop()

    @asynccontextmanager
    async def _borrow(self, slot: LaneSlot) -> AsyncIterator[ExtractionWorker]:
        worker = await self._take_worker(slot.lane)
        self._lent.append(slot)
        try:
            yield worker
        except BaseException:
            # The pipe may be in the middle of a message, whatever the reason.
            await self._end(worker)
            raise
        finally:
            self._lent.remove(slot)
        is_worn = worker.jobs_done >= self._children.jobs_per_worker
        # Jobs with a slot but without a child do not count: they will take an idle one.
        at_work = sum(lent.lane is Lane.QUICK for lent in self._lent)
        is_extra = at_work + len(self._idle) >= self._workers
        # A low priority cannot be raised, and the memory of a large page is not always released.
        if slot.lane is Lane.SLOW or is_worn or is_extra:
            await self._end(worker)
        else:
            self._idle.append(worker)

    @property
    def _spare_workers(self) -> int:
        """How many more children for ordinary pages there may be."""
        return self._workers - self._lanes.count_running(Lane.QUICK) - len(self._idle)

    async def _take_worker(self, lane: Lane) -> ExtractionWorker:
        if lane is Lane.SLOW:
            worker = await self._start()
            worker.lower_priority()
            return worker
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            await self._end(worker)
        return await self._start()

    def _begin_to_replace(self) -> None:
        """Start a child for the next ordinary page, in place of one that a slow job took."""
        if self._spare_workers > 0 and not self.is_closed:
            self._replacing.start(self._replace_worker())

    async def _replace_worker(self) -> None:
        try:
            worker = await self._start()
        except CinderError as error:
            log.warning("no parsing process could be started", reason=error.message)
            return
        if self._spare_workers > 0:
            self._idle.append(worker)
        else:
            await self._end(worker)

    async def _start(self) -> ExtractionWorker:
        if self.is_closed:
            raise ParseLimitExceeded("The server is stopping; send the request again later.")
        worker = await ExtractionWorker.start(self._memory_bytes, self._children.scorer)
        self._alive.add(worker)
        try:
            await worker.await_ready()
        except BaseException as exc:
            await self._end(worker)
            if isinstance(exc, TimeoutError):
                raise ParseTimeout(
                    "No process that turns pages into content has started in time; try again."
                ) from exc
            if isinstance(exc, WORKER_FAILURES):
                raise ParseLimitExceeded(
                    "The process that turns pages into content could not start; is "
                    f"{self._children.settings}-memory-bytes too low?"
                ) from exc
            raise
        return worker

    async def _end(self, worker: ExtractionWorker) -> None:
        await worker.end()
        self._alive.discard(worker)
