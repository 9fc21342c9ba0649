"""Admission: how many pages may be under way at once, so that those that are do not wait for long.

What is asked for beyond that is refused at once: to wait in a queue that only grows helps nobody. A
burst is taken in. Where all pages of a moment had to wait for a process to parse them, fewer are
let in, down to as many as those processes keep busy.

No caller holds all places: where there are several, one who has few is let in when those who have
many are not.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cinder.errors import Overloaded, RateLimited
from cinder.model.request import OWNER
from cinder.shares import Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionLimits:
    """How many pages may be under way, and how long they may wait."""

    most: int = 256
    most_per_caller: int | None = None
    """None for all but a quarter, once anybody but the owner has asked."""
    least: int = 4
    """As many are let in always."""
    wait_seconds: float = 0.25
    """A page may wait so long for its turn to be parsed; longer ones are borne for a moment."""
    moment_seconds: float = 1


class Admission:
    """Lets pages in, or not."""

    def __init__(
        self,
        limits: AdmissionLimits | None = None,
        *,
        recent_wait: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the limits, and what tells how long pages wait now."""
        self._limits = limits or AdmissionLimits()
        self._recent_wait = recent_wait
        self._clock = clock
        self._limit = self._limits.most
        self._shares = Shares()
        self._under_way: Counter[str] = Counter()
        self._shortest_wait = float("inf")
        self._begin_moment()

    @contextmanager
    def admit(self, caller: str = OWNER) -> Iterator[None]:
        """Have a page of a caller under way until the exit.

        Raises:
            Overloaded: there are as many as there may be.
            RateLimited: the caller has as many as he may.
        """
        self._look()
        self._shares.note_asking(caller)
        self._require_share(caller)
        self._require_room(caller)
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            self._under_way += Counter()  # drops those who have none

    def _require_share(self, caller: str) -> None:
        most = self._limits.most_per_caller or self._shares.most_for_one(self._limits.most)
        if most <= self._under_way[caller] and most < self._limits.most:
            raise RateLimited(
                f"{most} pages of yours are under way, as many as one caller may have (setting "
                "scrape.max-in-flight-per-caller). Try again when one is done."
            )

    def _require_room(self, caller: str) -> None:
        """Let a page in where there is room, or where its caller has less than an equal part."""
        under_way, callers = self._under_way.total(), len({*self._under_way, caller})
        is_modest = self._under_way[caller] < max(1, self._limit // callers)
        if under_way < (self._limits.most if is_modest and callers > 1 else self._limit):
            return
        self._has_refused = True
        raise Overloaded(
            "The server has as many pages under way as it can answer in good time (setting "
            "scrape.max-in-flight is the most). Try again later."
        )

    def _look(self) -> None:
        self._shortest_wait = min(self._shortest_wait, self._recent_wait())
        if self._clock() - self._began >= self._limits.moment_seconds:
            self._adjust()
            self._begin_moment()

    def _adjust(self) -> None:
        """Let fewer in where all had to wait, and more where not: by one while some are refused."""
        least, most = min(self._limits.least, self._limits.most), self._limits.most
        if self._shortest_wait > self._limits.wait_seconds:
            self._limit = max(least, min(self._limit, self._under_way.total()) // 2)
        elif self._has_refused:
            self._limit = min(most, self._limit + 1)
        else:
            self._limit = min(most, self._limit * 2)

    def _begin_moment(self) -> None:
        self._began = self._clock()
        self._shortest_wait = float("inf")
        self._has_refused = False
