"""How many streams of events callers may have open, and what they cost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cinder.api.v1.events import OpenStreams, WatchedJobs, stream_events
from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.errors import RateLimited
from cinder.models.job import Job, JobKind
from cinder.models.request import ScrapeRequest
from cinder.services.jobs.control import JobControl, JobReport


async def no_events() -> AsyncIterator[bytes]:
    for _ in range(0):
        yield b""


def test_the_streams_of_one_caller_are_not_counted_against_anothers() -> None:
    streams = OpenStreams(2)
    for caller in ("alice", "bob"):
        for _ in range(2):
            streams.answer(caller, no_events())
        with pytest.raises(RateLimited, match=r"server\.max-streams-per-caller"):
            streams.answer(caller, no_events())
    streams.close("alice")
    assert streams.answer("alice", no_events()).media_type == "text/event-stream"


class CountedReads(JobControl):
    """Jobs of an open app, and how often one was read."""

    def __init__(self, jobs: JobControl) -> None:
        self._counted = jobs
        self.reads = 0

    async def find(self, job_id: str, kind: JobKind, caller: str) -> Job:
        self.reads += 1
        return await self._counted.find(job_id, kind, caller)

    async def report(self, job: Job) -> JobReport:
        return await self._counted.report(job)


async def test_many_streams_of_one_job_read_it_once(tmp_path: Path) -> None:
    async with open_app(read_settings(data_dir=tmp_path)) as app:
        request = ScrapeRequest(url="https://example.com/")
        started = await app.jobs.start_batch(["https://example.com/"], request, None, None)
        jobs = CountedReads(app.jobs)
        watched, stopping = WatchedJobs(jobs), asyncio.Event()
        streams = [stream_events(watched.watch(started.job), stopping) for _ in range(100)]
        first = await asyncio.gather(*(anext(stream) for stream in streams))
        for stream in streams:
            await stream.aclose()
    assert {event.partition(b"\n")[0] for event in first} == {b"event: status"}
    assert jobs.reads < 10  # one, but for a machine on which a hundred take seconds
