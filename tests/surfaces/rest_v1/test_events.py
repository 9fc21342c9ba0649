"""How many streams of events callers may have open."""

from collections.abc import AsyncIterator

import pytest

from cinder.errors import RateLimited
from cinder.surfaces.rest_v1.events import OpenStreams


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
