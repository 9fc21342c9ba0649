"""Server-sent events that report a job's status and progress until it ends."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from pydantic_core import to_json
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from cinder.api.errors import describe_error
from cinder.api.schemas.jobs import describe_batch_status, describe_crawl_status
from cinder.errors import CinderError, RateLimited
from cinder.models.document import Json
from cinder.models.job import Job, JobKind
from cinder.services.jobs.control import JobControl, JobReport

EVENT_STREAM = "text/event-stream"
LAST_EVENT_ID = "over"
# No proxy on the way may keep events back until there are more.
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_POLL_SECONDS = 1.0
# Often enough that no proxy takes a job that waits for a connection that is dead.
_HEARTBEAT_SECONDS = 15.0
_HEARTBEAT = b": still here\n\n"


class OpenStreams:
    """The streams that are open, so many for each caller at most."""

    def __init__(self, most_per_caller: int) -> None:
        self._most_per_caller = most_per_caller
        self._open: Counter[str] = Counter()

    def answer(self, caller: str, events: AsyncIterator[bytes]) -> StreamingResponse:
        """Return the answer that streams events, which counts from now on until it has ended.

        Raises:
            RateLimited: the caller has as many open as he may.
        """
        if self._open[caller] >= self._most_per_caller:
            raise RateLimited(
                f"{self._most_per_caller} streams of events are open to you, as many as one caller "
                "may have (setting server.max-streams-per-caller). Close one, or ask for the "
                "job's status instead."
            )
        self._open[caller] += 1
        return _EventStream(self, caller, events)

    def close(self, caller: str) -> None:
        """Count one stream of a caller's less."""
        self._open[caller] -= 1
        self._open += Counter()  # drops those who have none


class _EventStream(StreamingResponse):
    """A stream that tells when it has ended, also where nobody was there to read its beginning."""

    def __init__(self, streams: OpenStreams, caller: str, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, media_type=EVENT_STREAM, headers=STREAM_HEADERS)
        self._streams = streams
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.close(self._caller)


class WatchedJobs:
    """Reads each job that is watched about once a second, for all of its streams together."""

    def __init__(self, jobs: JobControl) -> None:
        self._jobs = jobs
        # Kept alive by the streams that watch a job.
        self._watched: WeakValueDictionary[str, _WatchedJob] = WeakValueDictionary()

    def watch(self, job: Job) -> "_WatchedJob":
        """Return what reads a job for a stream."""
        watched = self._watched.get(job.id)
        if watched is None:
            watched = self._watched[job.id] = _WatchedJob(self._jobs, job)
        return watched


class _WatchedJob:
    """One job, and how far it had come when it was last read."""

    def __init__(self, jobs: JobControl, job: Job) -> None:
        self._jobs = jobs
        self._job = job
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._shown: dict[str, Json] = {}

    async def look(self) -> tuple[Job, dict[str, Json]]:
        """Return the job and its status as it is shown, not older than half a second.

        Raises:
            CinderError: the job has expired, or the database cannot be read.
        """
        async with self._reading:
            if time.monotonic() - self._read_at > _POLL_SECONDS / 2:
                self._job = await self._jobs.find(self._job.id, self._job.kind, self._job.owner)
                self._shown = _describe(await self._jobs.report(self._job))
                self._read_at = time.monotonic()
        return self._job, self._shown


async def stream_events(
    watched: _WatchedJob, stopping: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    """Yield a job's `status` when it changes and its `progress` when that does.

    The last event has the id `over`; without it, the server stops, and the next one can be asked.
    One named `error` says why there are no more.
    """
    emitter = _EventEmitter()
    try:
        while True:
            job, shown = await watched.look()
            message = emitter.tell(shown, is_over=job.status.is_over)
            if message is not None:
                yield message
            if job.status.is_over or await _is_set_soon(stopping):
                return
    except CinderError as error:
        yield _event("error", describe_error(error))


async def _is_set_soon(event: asyncio.Event) -> bool:
    """Wait until it is time to look again, or until the event comes: then at once."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_POLL_SECONDS):
            await event.wait()
    return event.is_set()


@dataclass(slots=True)
class _EventEmitter:
    """Knows what was told last, and tells only what is new."""

    _last: dict[str, Json] = field(default_factory=dict)
    _told_at: float = field(default_factory=time.monotonic)

    def tell(self, shown: dict[str, Json], *, is_over: bool) -> bytes | None:
        """Return what is to be sent now; None where nothing is."""
        if shown is self._last or shown == self._last:
            return self._beat()
        name = "progress" if shown["status"] == self._last.get("status") else "status"
        self._last, self._told_at = shown, time.monotonic()
        return _event(name, shown, LAST_EVENT_ID if is_over else None)

    def _beat(self) -> bytes | None:
        now = time.monotonic()
        if now - self._told_at < _HEARTBEAT_SECONDS:
            return None
        self._told_at = now
        return _HEARTBEAT


def _describe(report: JobReport) -> dict[str, Json]:
    is_crawl = report.job.kind is JobKind.CRAWL
    return describe_crawl_status(report) if is_crawl else describe_batch_status(report)


def _event(name: str, data: dict[str, Json], event_id: str | None = None) -> bytes:
    numbered = f"id: {event_id}\n" if event_id else ""
    return f"event: {name}\n{numbered}data: ".encode() + to_json(data) + b"\n\n"
