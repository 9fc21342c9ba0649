"""Health checks: whether each part works, and how to repair one that does not."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from cinder.errors import CinderError

CHECK_TIMEOUT_SECONDS = 5
SHARED_SECONDS = 1.0
"""How long findings are cached: monitoring requests them often."""
TRIAL_TIMEOUT_SECONDS = 30

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check of one part; without a problem the part works."""

    part: str
    problem: str | None = None


def check_with_address(check: Check, address: str) -> Check:
    """Return a check whose failures contain the part's address.

    Use it for trials only: the owner runs them, and other callers may not know the address.
    """

    async def run() -> None:
        try:
            await check()
        except CinderError as error:
            raise CinderError(f"{error.message.rstrip('.')}. It was asked at {address}") from error

    return run


class Health:
    """Checks the parts that requests need.

    A trial is a longer and more thorough check, which a person starts.
    """

    def __init__(
        self,
        checks: Mapping[str, Check],
        trials: Mapping[str, Check],
        *,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._checks = checks
        self._trials = trials
        self._examining = asyncio.Lock()
        self._findings: list[Finding] | None = None
        self._found_until = 0.0
        self.has_room = has_room
        """Whether there was disk space for pages at the last write."""

    async def examine(self) -> list[Finding]:
        """Check all parts at once; the findings are cached for a second."""
        async with self._examining:
            if self._findings is None or time.monotonic() >= self._found_until:
                self._findings = await _run_all(self._checks, CHECK_TIMEOUT_SECONDS)
                self._found_until = time.monotonic() + SHARED_SECONDS
            return self._findings

    async def try_out(self) -> list[Finding]:
        """Check all parts, with trials where there are any."""
        return await _run_all({**self._checks, **self._trials}, TRIAL_TIMEOUT_SECONDS)


async def _run_all(checks: Mapping[str, Check], timeout_seconds: float) -> list[Finding]:
    async def run(part: str, check: Check) -> Finding:
        try:
            async with asyncio.timeout(timeout_seconds):
                await check()
        except TimeoutError:
            return Finding(part, f"did not answer within {timeout_seconds:g} seconds")
        except (CinderError, OSError) as error:
            return Finding(part, str(error))
        return Finding(part)

    return list(await asyncio.gather(*(run(part, check) for part, check in checks.items())))
