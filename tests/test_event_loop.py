"""The monitor of the event loop: its lag, and the code that blocks it."""

import asyncio
import time

import structlog

from cinder.event_loop import LoopMonitor

WAIT_SECONDS = 60


async def until_logged(logs: list[structlog.typing.EventDict]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not logs:  # noqa: ASYNC110 - a thread logs it, and tells no event
            await asyncio.sleep(0.01)


def hold_the_loop(seconds: float) -> None:
    time.sleep(seconds)  # blocking the loop is what is tried


async def test_a_callback_that_blocks_the_loop_is_logged_with_its_name() -> None:
    with structlog.testing.capture_logs() as logs:
        async with LoopMonitor(start_up_seconds=0):
            await asyncio.sleep(0)
            hold_the_loop(1)
            await until_logged(logs)
    assert logs[0]["event"] == "event loop blocked"
    assert logs[0]["seconds"] >= 0.1
    assert "hold_the_loop" in logs[0]["at"]


async def test_many_short_callbacks_are_a_lag_and_block_nothing() -> None:
    with structlog.testing.capture_logs() as logs:
        async with LoopMonitor(start_up_seconds=0) as monitor:
            loop, lags = asyncio.get_running_loop(), []
            for _ in range(300):
                loop.call_soon(time.sleep, 0.002)
            loop.call_soon(lambda: lags.append(monitor.lag_seconds))
            await asyncio.sleep(0.2)
    assert lags[0] > 0.3
    assert logs == []


async def test_an_idle_loop_has_no_lag_to_speak_of() -> None:
    async with LoopMonitor() as monitor, asyncio.timeout(WAIT_SECONDS):
        await asyncio.sleep(0.2)
        while monitor.lag_seconds > 0.05:  # noqa: ASYNC110 - a busy machine may be late at times
            await asyncio.sleep(0.05)
