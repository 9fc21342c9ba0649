"""Server-sent events that report a job's status and progress until it ends."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from weakref import WeakValueDictionary

from pydantic_core import to_json
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from cinder.api.errors import describe_error
from cinder.api.schemas.jobs import describe_status
from cinder.errors import CinderError, RateLimited
from cinder.models.document import Json
from cinder.models.job import Job
from cinder.services.jobs.control import JobControl

EVENT_STREAM = "text/event-stream"
LAST_EVENT_ID = "over"
# A proxy must not buffer events.
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_POLL_SECONDS = 1.0
# Often enough that proxies do not close the connection as idle.
_HEARTBEAT_SECONDS = 15.0
_HEARTBEAT = b": still here\n\n"


class OpenStreams:
    """The open streams, limited for each caller."""

    def __init__(self, most_per_caller: int) -> None:
        self._most_per_caller = most_per_caller
        self._open: Counter[str] = Counter()

    def answer(self, caller: str, events: AsyncIterator[bytes]) -> StreamingResponse:
        """Return a response that streams events. It counts as open until it has ended.

        Raises:
            RateLimited: the caller has too many open streams.
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
        """Remove a stream of a caller."""
        self._open[caller] -= 1
        self._open += Counter()  # drops callers without streams


class _EventStream(StreamingResponse):
    """A stream that is removed when it ends, even if the client never read it."""

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
    """Reads each watched job about once a second, for all of its streams."""

    def __init__(self, jobs: JobControl) -> None:
        self._jobs = jobs
        # The streams that watch a job keep it alive.
        self._watched: WeakValueDictionary[str, _WatchedJob] = WeakValueDictionary()

    def watch(self, job: Job) -> "_WatchedJob":
        """Return the reader of a job, which its streams share."""
        watched = self._watched.get(job.id)
        if watched is None:
            watched = self._watched[job.id] = _WatchedJob(self._jobs, job)
        return watched


class _WatchedJob:
    """A job and its status when it was last read."""

    def __init__(self, jobs: JobControl, job: Job) -> None:
        self._jobs = jobs
        self._job = job
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._shown: dict[str, Json] = {}

    async def look(self) -> tuple[Job, dict[str, Json]]:
        """Return the job and its status in JSON, at most half a second old.

        Raises:
            CinderError: the job has expired, or the database cannot be read.
        """
        async with self._reading:
            if time.monotonic() - self._read_at > _POLL_SECONDS / 2:
                self._job = await self._jobs.find(self._job.id, self._job.kind, self._job.owner)
                self._shown = describe_status(await self._jobs.report(self._job))
                self._read_at = time.monotonic()
        return self._job, self._shown


async def stream_events(
    watched: _WatchedJob, stopping: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    """Yield events: `status` when a job's status changes, `progress` when its progress does.

    The last event of a job has the id `over`. A stream that ends without it was stopped by the
    server; clients reconnect. The event `error` says why a stream fails.
    """
    last: dict[str, Json] = {}
    sent_at = time.monotonic()
    try:
        while True:
            job, shown = await watched.look()
            if shown != last:
                name = "progress" if shown["status"] == last.get("status") else "status"
                last, sent_at = shown, time.monotonic()
                yield _event(name, shown, LAST_EVENT_ID if job.status.is_over else None)
            elif time.monotonic() - sent_at >= _HEARTBEAT_SECONDS:
                sent_at = time.monotonic()
                yield _HEARTBEAT
            if job.status.is_over:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await stopping.wait()
                return
    except CinderError as error:
        yield _event("error", describe_error(error))


def _event(name: str, data: dict[str, Json], event_id: str | None = None) -> bytes:
    numbered = f"id: {event_id}\n" if event_id else ""
    return f"event: {name}\n{numbered}data: ".encode() + to_json(data) + b"\n\n"
