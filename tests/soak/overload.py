"""Ten times the capacity of a server with default settings, for long."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.mixed_overload import MixedOverload, overload_mixed


def soak_overload(seconds: int, say: Callable[[str], None]) -> list[str]:
    """Overload a server for so long; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        borne = asyncio.run(overload_mixed(data_dir, seconds=seconds, say=say))
        log = data_dir.with_suffix(".log").read_text()
    say(f"Overload: {borne.figures}")
    blocked = [line for line in log.splitlines() if "event loop blocked" in line]
    return [*_judge(borne), *blocked]


def _judge(borne: MixedOverload) -> list[str]:
    if not borne.is_alive:
        return ["Overload: the server ended"]
    marks = {
        "/healthz took a second or more": borne.health_seconds >= 1,
        "requests were refused after 250 ms or more": borne.refused_seconds >= 0.25,
        "no page was answered within 5 s after the load": (borne.recovery_seconds or 60) > 5,
        "memory did not come back within 10 %": borne.growth > 0.1,
    }
    return [f"Overload: {problem}" for problem, is_so in marks.items() if is_so]
