"""Slots shared fairly between callers, then between sites, with a part kept free for others."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from cinder.models.request import OWNER

NO_CALLER = ""
"""Who asks for what all callers' jobs have in common, such as robots.txt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """Whom a place is for."""

    caller: str = OWNER
    is_job: bool = False
    """Whether it is for a page of a job, which nobody waits for."""
    site: str = ""

    @property
    def party(self) -> tuple[str, bool]:
        """Who takes turns: callers, and the jobs of each apart from what he waits for."""
        return self.caller, self.is_job


OWNER_REQUESTER = Requester()


class SlotRequest(Protocol):
    """Something that wants a place, or has one."""

    @property
    def who(self) -> Requester:
        """Whom it is for."""
        ...


C = TypeVar("C", bound=SlotRequest)


def slots_without_reserve(places: int) -> int:
    """Return how many of some places are left when a quarter of them is kept for others."""
    return places - max(1, places // 4) if places > 1 else places


class FairScheduler:
    """Who had a turn last, and whether there are several callers to share with."""

    def __init__(self) -> None:
        self._is_shared = False
        self._turns: dict[tuple[str, bool], int] = {}
        self._count = 0

    def note_asking(self, caller: str) -> None:
        """Note who asks: from the first on who is not the owner, places are kept for others."""
        self._is_shared |= caller not in (OWNER, NO_CALLER)

    def most_for_one(self, places: int) -> int:
        """Return how many of some places one caller may hold."""
        return slots_without_reserve(places) if self._is_shared else places

    def choose(self, ready: Collection[C], running: Iterable[SlotRequest]) -> C | None:
        """Return whose turn it is: of the caller with the fewest, then of a site with the fewest.

        Callers with as many take turns; so does what a caller waits for, with his jobs.
        """
        if not ready:
            return None
        held = [claim.who for claim in running]
        callers = Counter(who.caller for who in held)
        sites = Counter(who.site for who in held)

        def rank(claim: C) -> tuple[int, int, int]:
            who = claim.who
            turn = self._turns.get(who.party, 0)
            return callers[who.caller], turn, sites[who.site]

        return min(ready, key=rank)

    def note_turn(self, who: Requester) -> None:
        """Note that somebody had a turn."""
        self._count += 1
        self._turns[who.party] = self._count

    def forget_absent(self, present: Iterable[SlotRequest]) -> None:
        """Forget the turns of those who neither have a place nor want one."""
        parties = {claim.who.party for claim in present}
        self._turns = {party: turn for party, turn in self._turns.items() if party in parties}


@dataclass(slots=True, eq=False)
class FairSlot:
    """One of the places, or the wish for one."""

    who: Requester
    turn: asyncio.Event = field(default_factory=asyncio.Event)


class FairQueue:
    """A number of places that are waited for.

    Once there are several callers, one of them never holds all places. All jobs together never do,
    nor do a caller's jobs hold all that he may have himself.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._shares = FairScheduler()
        self._running: list[FairSlot] = []
        self._waiting: list[FairSlot] = []

    def has_room_for(self, who: Requester) -> bool:
        """Whether somebody would get a place at once, were nobody else to."""
        own = [place.who for place in self._running if place.who.caller == who.caller]
        most = self._shares.most_for_one(self._count)
        if len(self._running) >= self._count or len(own) >= most:
            return False
        return not who.is_job or (
            sum(place.who.is_job for place in self._running) < slots_without_reserve(self._count)
            and sum(other.is_job for other in own) < slots_without_reserve(most)
        )

    async def take(self, who: Requester) -> FairSlot:
        """Wait for a place; it is to be given back."""
        self._shares.note_asking(who.caller)
        place = FairSlot(who)
        self._waiting.append(place)
        self._give()
        try:
            await place.turn.wait()
        except BaseException:
            self.give_back(place)
            raise
        return place

    def give_back(self, place: FairSlot) -> None:
        """Let others have a place."""
        for places in (self._running, self._waiting):
            with suppress(ValueError):
                places.remove(place)
        self._give()
        self._shares.forget_absent((*self._running, *self._waiting))

    @asynccontextmanager
    async def hold(self, who: Requester) -> AsyncIterator[None]:
        """Wait for a place, and hold it until the exit."""
        place = await self.take(who)
        try:
            yield
        finally:
            self.give_back(place)

    def _give(self) -> None:
        while place := self._shares.choose(self._ready(), self._running):
            self._waiting.remove(place)
            self._running.append(place)
            self._shares.note_turn(place.who)
            place.turn.set()

    def _ready(self) -> list[FairSlot]:
        if len(self._running) >= self._count:
            return []
        parties = {place.who.party: place.who for place in self._waiting}
        open_to = {party for party, who in parties.items() if self.has_room_for(who)}
        return [place for place in self._waiting if place.who.party in open_to]
