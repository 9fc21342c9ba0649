"""Ten times the capacity of a server with default settings: cached, fresh and rendered pages."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.website import run_website
from tests.api.running import RunningServer, run_server
from tests.faults.load import at_share
from tests.faults.load_client import Plan, Sent, send

_PAGE_BYTES = 20_000
_WARM_UP_SECONDS = 4
_CAPACITY_SECONDS = 5
_AT_ONCE = 8
_HEALTH_PER_SECOND = 10
_RECOVERY_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedOverload:
    """How a server bore a mixed load of ten times its capacity."""

    capacity: float
    """Requests a second that it answers when they come one after another on a few connections."""
    load: Sent
    health: Sent
    is_alive: bool
    recovery_seconds: float | None
    """How long after the load the first fresh page was answered; None for not within a minute."""
    before_bytes: int
    after_bytes: int

    @property
    def health_seconds(self) -> float:
        """How soon 99 % of the health checks were answered; those that were not count whole."""
        return at_share(sorted(self.health.seconds), 0.99)

    @property
    def refused_seconds(self) -> float:
        """How soon 95 % of the refused requests were refused."""
        return at_share(self.load.of(503, 429) or [0.0], 0.95)

    @property
    def growth(self) -> float:
        """By which share of its memory the server has grown for good."""
        return self.after_bytes / self.before_bytes - 1

    @property
    def figures(self) -> str:
        """All of it, in a line."""
        sent, rate = self.load, len(self.load.statuses) / max(self.load.wall_seconds, 0.001)
        statuses = {status: sent.count(status) for status in sorted(set(sent.statuses))}
        return (
            f"capacity {self.capacity:.0f}/s, offered {rate:.0f}/s for "
            f"{sent.wall_seconds:.0f} s; statuses {statuses}; "
            f"answered p50 {at_share(sent.of(200) or [0.0], 0.5):.2f} s; "
            f"refused p50 {at_share(sent.of(503, 429) or [0.0], 0.5):.3f} s, "
            f"p95 {self.refused_seconds:.3f} s; /healthz p99 {self.health_seconds:.3f} s "
            f"({len(self.health.of(200))} of {len(self.health.statuses)} answered); "
            f"{'alive' if self.is_alive else 'ENDED'}; "
            f"first answer after {self.recovery_seconds or _RECOVERY_SECONDS:.2f} s; "
            f"memory {self.before_bytes >> 20} to {self.after_bytes >> 20} MiB ({self.growth:+.0%})"
        )


async def overload_mixed(
    data_dir: Path,
    *,
    seconds: float,
    times: float = 10,
    say: Callable[[str], None] = lambda _: None,
) -> MixedOverload:
    """Offer a server with default settings many times the load that it can answer."""
    async with _serving(data_dir) as (server, site):
        port = int(server.url.rpartition(":")[2])

        def plan(per_second: float, seconds: float, page: int, at_once: int | None = None) -> Plan:
            return Plan(
                port=port,
                token=server.token,
                site=site,
                per_second=per_second,
                seconds=seconds,
                first_page=page,
                at_once=at_once,
            )

        await send(plan(0, _WARM_UP_SECONDS, 10, _AT_ONCE))
        closed = await send(plan(0, _CAPACITY_SECONDS, 100_000, _AT_ONCE))
        capacity = len(closed.of(200)) / closed.wall_seconds
        say(f"capacity {capacity:.0f}/s ({len(closed.statuses)} requests)")
        before = _memory_bytes(server)
        checks = Plan(
            port=port,
            token="",
            site=site,
            per_second=_HEALTH_PER_SECOND,
            seconds=seconds,
            is_health=True,
        )
        load, health = await asyncio.gather(
            send(plan(times * capacity, seconds, 200_000)), send(checks)
        )
        is_alive = server.process.returncode is None
        recovery = await _recover(plan) if is_alive else None
        # What runs on for callers who left is over by then, and idle browsers are closed.
        after = await _settled_memory(server, before) if is_alive else 0
        is_alive = server.process.returncode is None
    return MixedOverload(
        capacity=capacity,
        load=load,
        health=health,
        is_alive=is_alive,
        recovery_seconds=recovery,
        before_bytes=before,
        after_bytes=after,
    )


@asynccontextmanager
async def _serving(data_dir: Path) -> AsyncIterator[tuple[RunningServer, str]]:
    async with run_website(_PAGE_BYTES) as site:
        variables = {"CINDER_EGRESS__ALLOW": site.address}
        log = str(data_dir.with_suffix(".log"))
        async with run_server(data_dir, log=log, **variables) as server:
            yield server, site.address


async def _recover(plan: Callable[[float, float, int, int | None], Plan]) -> float | None:
    began, page = time.monotonic(), 900_001
    while time.monotonic() - began < _RECOVERY_SECONDS:
        sent = await send(plan(1, 1, page, None))
        page += 10
        if sent.of(200):
            return time.monotonic() - began - (sent.wall_seconds - sent.of(200)[0])
    return None


async def _settled_memory(server: RunningServer, before: int) -> int:
    until = time.monotonic() + _RECOVERY_SECONDS
    # Memory is given back without an event that tells of it.
    while (now := _memory_bytes(server)) > 1.1 * before and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(1)
    return now


def _memory_bytes(server: RunningServer) -> int:
    """Return what the server and its processes hold, shared pages counted once."""
    process, total = psutil.Process(server.process.pid), 0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.Error, OSError):
            total += each.memory_full_info().pss
    return total
