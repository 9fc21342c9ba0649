"""Health: whether each part works, and how to mend the one that does not."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from cinder.errors import CinderError

CHECK_TIMEOUT_SECONDS = 5

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found of one part; without a problem the part works."""

    part: str
    problem: str | None = None


class Health:
    """Checks the parts that a request needs."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks

    async def examine(self) -> list[Finding]:
        """Check every part, all at once."""
        return list(
            await asyncio.gather(*(_run(part, check) for part, check in self._checks.items()))
        )


async def _run(part: str, check: Check) -> Finding:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            await check()
    except TimeoutError:
        return Finding(part, f"did not answer within {CHECK_TIMEOUT_SECONDS} seconds")
    except (CinderError, OSError) as error:
        return Finding(part, str(error))
    return Finding(part)
