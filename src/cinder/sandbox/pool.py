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
from cinder.errors import CinderError, ParseLimitExceeded
from cinder.fair_queue import OWNER_REQUESTER, Requester
from cinder.models.url import host_and_port
from cinder.sandbox.lanes import Lane, LaneLimits, Lanes, LaneSlot
from cinder.sandbox.messages import (
    PREFIX_BYTES,
    MalformedMessage,
    Message,
    read_sizes,
)

_START_TIMEOUT_SECONDS = 30.0
_STREAM_BUFFER_BYTES = 1024 * 1024
LOW_PRIORITY = 5

# Tells whether a child has ended without taking its end away from the event loop.
_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT if sys.platform == "linux" else 0

# A child that died closes its pipe; one that was taken over may send anything.
WORKER_FAILURES = (EOFError, OSError, MalformedMessage)


class ExtractionWorker:
    """A child process; it does one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.jobs_done = 0

    @classmethod
    async def start(cls, memory_bytes: int, scorer: Path | None = None) -> Self:
        """Start a child; it says `ready` when it can take a job."""
        chosen = () if scorer is None else (str(scorer),)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-X", "utf8", "-m", "cinder.sandbox.worker"),
            *(str(memory_bytes), str(os.getpid()), *chosen),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            limit=_STREAM_BUFFER_BYTES,
        )
        if sys.platform != "win32" and os.getpriority(os.PRIO_PROCESS, 0) < 0:
            # Children inherit the server's own, and requests are answered before pages are parsed.
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, process.pid, 0)
        return cls(process)

    async def await_ready(self) -> None:
        """Wait until the child has loaded what it needs."""
        async with asyncio.timeout(_START_TIMEOUT_SECONDS):
            await self._receive()

    async def run(self, job: Message) -> Message:
        """Have a job done and return the answer."""
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        self._process.stdin.writelines(job.frame())
        await self._process.stdin.drain()
        answer = await self._receive()
        self.jobs_done += 1
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether the child still runs; asks the system, as the event loop learns of it later."""
        if self._process.returncode is not None or sys.platform != "linux":
            return self._process.returncode is None
        try:
            return os.waitid(os.P_PID, self._process.pid, _PEEK) is None
        except ChildProcessError:
            return False

    @property
    def cpu_seconds(self) -> float:
        """The CPU time that the child has had; where the system does not tell, the time of day."""
        if sys.platform != "linux":
            return time.monotonic()
        try:
            # The number of a process's own clock, as clock_getcpuclockid(3) makes it.
            return time.clock_gettime(~self._process.pid << 3 | 2)
        except OSError:
            return 0.0

    def lower_priority(self) -> None:
        """Let everything else run first; a child cannot be raised again without privileges."""
        if sys.platform != "win32" and self.is_alive:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOW_PRIORITY)

    def kill(self) -> None:
        """End the child at once; whoever waits for its answer learns of it."""
        # Killing one that has ended would take its exit status from the event loop, which warns.
        if self.is_alive:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """Kill the child and wait until nothing is left of it."""
        self.kill()
        # Reads what is left in the pipe as well: an unread pipe would keep its transport open.
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


_LEAST_LOOK_SECONDS = 0.02

T = TypeVar("T")

log = structlog.get_logger()


class _Evicted(Exception):
    """A job took long while the slow lane was full: it gave its place up."""


class _Watch:
    """Tells once a worker has had so much CPU time for its job; a busy machine makes none slow."""

    def __init__(self, worker: ExtractionWorker, seconds: float, tell: Callable[[], None]) -> None:
        self._worker = worker
        self._limit = worker.cpu_seconds + seconds
        self._tell = tell
        self.is_over = False
        self._look_again(seconds)

    def stop(self) -> None:
        """Look no longer."""
        self._timer.cancel()

    def _look(self) -> None:
        left = self._limit - self._worker.cpu_seconds
        if left > 0:
            return self._look_again(left)
        self.is_over = True
        return self._tell()

    def _look_again(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(seconds, _LEAST_LOOK_SECONDS), self._look)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLane:
    """When a job counts as slow, how many of those run at once, and how many may wait.

    Without workers there is no such lane: a job stays where it began, however long it takes.
    """

    after_seconds: float = 0.5
    workers: int = 2
    waiting: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOptions:
    """What the child processes are like."""

    jobs_per_worker: int = 1_000
    scorer: Path | None = None
    """The file of the main-content scorer; the one that comes with the package when absent."""
    settings: str = "scrape.extract"
    """What the names of the settings begin with that a message tells to raise."""


class WorkerPool:
    """A bounded number of child processes, started when first needed.

    A job that runs for long moves to the slow lane: its child no longer counts among `workers`, has
    a low priority, and ends with it. Where that lane is full, the job is ended and begins anew once
    there is room, so that ordinary pages never wait for it.

    A child is killed when a job overruns its time or its caller goes away. It is replaced after
    that, after it died, and after so many jobs, lest it leaks.
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
        """Start nothing yet; `count` is told of each job that moved, was put off or failed."""
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
        # The places whose jobs have a child.
        self._lent: list[LaneSlot] = []
        self._alive: set[ExtractionWorker] = set()
        self._replacing = BackgroundTasks()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self._replacing.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        self._replacing.cancel_all()
        for worker in self._alive:
            worker.kill()
        # Whoever still waits for a killed child gives its place back as it learns of that.
        await self._lanes.wait_until_empty()
        await self._replacing.__aexit__()
        for worker in tuple(self._alive):
            await self._end(worker)

    @property
    def is_closed(self) -> bool:
        """Whether no job can be run any more."""
        return self._is_closed

    @property
    def is_busy(self) -> bool:
        """Whether every child for ordinary pages has a job, so that the next one waits."""
        return self._lanes.count_running(Lane.QUICK) >= self._workers

    def count_jobs(self, lane: str, state: str) -> int:
        """Return how many jobs are `running` or `waiting` in a lane."""
        lanes = self._lanes
        return (lanes.count_running if state == "running" else lanes.count_waiting)(Lane(lane))

    def recent_wait(self) -> float:
        """Return for how many seconds ordinary pages wait for their turn now."""
        return self._lanes.recent_wait(Lane.QUICK)

    async def run(
        self,
        work: Callable[[ExtractionWorker], Awaitable[T]],
        url: str | None,
        who: Requester = OWNER_REQUESTER,
    ) -> T:
        """Lend a child to a job on the page of a URL, and return what comes of it.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        try:
            return await self._run(work, LaneSlot(Lane.QUICK, _site_of(url), who))
        except TimeoutError:
            self._count("timed_out")
            raise ParseLimitExceeded(
                f"Turning {url or 'the HTML'} into content took longer than "
                f"{self._timeout_seconds:g} s (setting {self._children.settings}-timeout-seconds).",
                url=url,
            ) from None
        except WORKER_FAILURES as exc:
            self._count("died")
            raise ParseLimitExceeded(
                f"Turning {url or 'the HTML'} into content failed, most likely because it needs "
                f"more than {self._memory_bytes} bytes of memory "
                f"(setting {self._children.settings}-memory-bytes).",
                url=url,
            ) from exc

    async def start_all(self) -> None:
        """Start as many children as there may be for ordinary pages, before there are any."""
        missing = max(0, self._spare_workers)
        await asyncio.gather(*(self._replace_worker() for _ in range(missing)))

    async def _run(self, work: Callable[[ExtractionWorker], Awaitable[T]], wish: LaneSlot) -> T:
        try:
            entering = self._lanes.enter(wish.lane, wish.site, wish.who)
            async with entering as place, self._borrow(place) as worker:
                async with asyncio.timeout(self._timeout_seconds):
                    with self._watched(place, worker):
                        return await work(worker)
        except _Evicted:
            self._count("put_off")
            self._begin_to_replace()
        return await self._run(work, replace(wish, lane=Lane.SLOW))

    @contextmanager
    def _watched(self, place: LaneSlot, worker: ExtractionWorker) -> Iterator[None]:
        """Take a job out of the quick lane when it has run for long.

        Raises:
            _Evicted: the slow lane had no room for it.
        """
        if place.lane is Lane.SLOW or not self._slow.workers:
            yield
            return
        watch = _Watch(worker, self._slow.after_seconds, lambda: self._take_out(place, worker))
        try:
            yield
        except WORKER_FAILURES:
            if watch.is_over and place.lane is Lane.QUICK:
                raise _Evicted from None
            raise
        finally:
            watch.stop()

    def _take_out(self, place: LaneSlot, worker: ExtractionWorker) -> None:
        if self._lanes.move_to_slow(place):
            self._count("moved")
            worker.lower_priority()
            self._begin_to_replace()
        else:
            worker.kill()

    @asynccontextmanager
    async def _borrow(self, place: LaneSlot) -> AsyncIterator[ExtractionWorker]:
        worker = await self._take_worker(place.lane)
        self._lent.append(place)
        try:
            yield worker
        except BaseException:
            # Its pipe is out of step with us, whatever the reason.
            await self._end(worker)
            raise
        finally:
            self._lent.remove(place)
        is_worn = worker.jobs_done >= self._children.jobs_per_worker
        # One of a low priority stays so; and what a large page took is not always given back.
        if place.lane is Lane.SLOW or is_worn or self._has_enough_workers:
            await self._end(worker)
        else:
            self._idle.append(worker)

    @property
    def _has_enough_workers(self) -> bool:
        """Whether as many children as there may be for ordinary pages are at work or idle.

        Jobs that have a place but no child yet do not count: they will take an idle one.
        """
        at_work = sum(place.lane is Lane.QUICK for place in self._lent)
        return at_work + len(self._idle) >= self._workers

    @property
    def _spare_workers(self) -> int:
        """How many children for ordinary pages there may be beside those that there are."""
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
        """Have a child ready for the next ordinary page, in place of one that a slow job had."""
        if self._spare_workers > 0 and not self._is_closed:
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
        if self._is_closed:
            raise ParseLimitExceeded("The server is stopping; send the request again later.")
        worker = await ExtractionWorker.start(self._memory_bytes, self._children.scorer)
        self._alive.add(worker)
        try:
            await worker.await_ready()
        except BaseException as exc:
            await self._end(worker)
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


def _site_of(url: str | None) -> str:
    return ":".join(map(str, host_and_port(url))) if url else ""
