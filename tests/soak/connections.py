"""All connections that one address can hold: silent ones, slow heads and streams of events."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.flood import Borne, Flood, bear

_FLOOD = Flood(silent=5_000, slow_heads=2_000, streams=500)
_REQUESTS = 300
_MAX_RATIO = 2
_MAX_GROWTH_BYTES = 128 * 1024 * 1024


def soak_connections(say: Callable[[str], None]) -> list[str]:
    """Flood a server from one address; return what went wrong for another."""
    with tempfile.TemporaryDirectory() as folder:
        # The default lets one caller have 32 streams: this one has them all.
        streams = {"CINDER_SERVER__MAX_STREAMS_PER_CALLER": str(_FLOOD.streams)}
        borne = asyncio.run(bear(Path(folder), _FLOOD, requests=_REQUESTS, **streams))
    say(
        f"{_FLOOD.silent} silent connections, {_FLOOD.slow_heads} slow heads and "
        f"{_FLOOD.streams} streams: {borne.figures}"
    )
    return _judge(borne)


def _judge(borne: Borne) -> list[str]:
    marks = {
        "an answer was not 200": borne.statuses != {200},
        "answers took more than twice the time": borne.median_ratio > _MAX_RATIO,
        "memory grew without bounds": borne.growth_bytes > _MAX_GROWTH_BYTES,
    }
    return [f"Connections: {problem}" for problem, is_so in marks.items() if is_so]
