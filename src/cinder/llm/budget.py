"""A budget: how many calls, tokens and seconds of a language model one request may take."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Never

from cinder.llm.failures import BudgetSpent
from cinder.model.request import OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """How much one request may take."""

    calls: int
    """Tries at the provider, those in vain included."""
    tokens: int
    """Sent and received. The call that goes beyond is paid for; there is none after it."""
    seconds: float


class Budget:
    """What one request has taken so far; its time begins when it is made."""

    def __init__(
        self,
        limits: BudgetLimits,
        clock: Callable[[], float] = time.monotonic,
        *,
        caller: str = OWNER,
    ) -> None:
        self.caller = caller
        """Whose request it is."""
        self._limits = limits
        self._clock = clock
        self._until = clock() + limits.seconds
        self.calls = 0
        self.tokens = 0

    @property
    def seconds_left(self) -> float:
        """How long the request may still take."""
        return max(0.0, self._until - self._clock())

    def take_call(self) -> None:
        """Pay for one call.

        Raises:
            BudgetSpent: it cannot be paid for.
        """
        if self.calls >= self._limits.calls:
            _refuse(f"{self.calls} of {self._limits.calls} calls", "calls")
        if self.tokens >= self._limits.tokens:
            _refuse(f"{self.tokens} of {self._limits.tokens} tokens", "tokens")
        if not self.seconds_left:
            self._refuse_time()
        self.calls += 1

    def note_tokens(self, count: int) -> None:
        """Remember what a call has taken."""
        self.tokens += count

    @asynccontextmanager
    async def limiting_time(self) -> AsyncIterator[None]:
        """End what is done inside when the time is up.

        Raises:
            BudgetSpent: it is.
        """
        try:
            async with asyncio.timeout(self.seconds_left) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            self._refuse_time()

    def _refuse_time(self) -> Never:
        _refuse(f"{self._limits.seconds:g} seconds", "seconds")


def _refuse(spent: str, kind: str) -> Never:
    raise BudgetSpent(
        f"The request's budget for the language model is spent: {spent}. Ask about less, or raise "
        f"llm.max-{kind} (CINDER_LLM__MAX_{kind.upper()})"
    )
