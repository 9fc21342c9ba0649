"""Slots shared fairly between callers, then between sites, with a reserve kept for others."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from cinder.models.request import OWNER

NO_CALLER = ""
"""The caller of requests that all callers' jobs share, such as those for robots.txt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """Whom a slot is for."""

    caller: str = OWNER
    is_job: bool = False
    """Whether it is for a page of a job, which no client waits for."""
    site: str = ""

    @property
    def party(self) -> tuple[str, bool]:
        """The unit that takes turns: a caller's jobs count apart from the caller's requests."""
        return self.caller, self.is_job


OWNER_REQUESTER = Requester()


class SlotRequest(Protocol):
    """Something that waits for a slot, or has one."""

    @property
    def who(self) -> Requester:
        """Whom it is for."""
        ...


C = TypeVar("C", bound=SlotRequest)


def slots_without_reserve(slots: int) -> int:
    """Return how many slots are left when a quarter of them is kept for others."""
    return slots - max(1, slots // 4) if slots > 1 else slots


class FairScheduler:
    """Decides whose turn it is, and how many slots one caller may hold."""

    def __init__(self) -> None:
        self._is_shared = False
        self._turns: dict[tuple[str, bool], int] = {}
        self._count = 0

    def note_asking(self, caller: str) -> None:
        """Note who asks: slots are reserved once a caller other than the owner has asked."""
        self._is_shared |= caller not in (OWNER, NO_CALLER)

    def most_for_one(self, slots: int) -> int:
        """Return how many of these slots one caller may hold."""
        return slots_without_reserve(slots) if self._is_shared else slots

    def choose(self, ready: Collection[C], running: Iterable[SlotRequest]) -> C | None:
        """Return the next request: of the caller, then of the site, with the fewest slots.

        Callers with equally many slots take turns, as do a caller's requests and jobs.
        """
        if not ready:
            return None
        held = [request.who for request in running]
        callers = Counter(who.caller for who in held)
        sites = Counter(who.site for who in held)

        def rank(request: C) -> tuple[int, int, int]:
            who = request.who
            return callers[who.caller], self._turns.get(who.party, 0), sites[who.site]

        return min(ready, key=rank)

    def note_turn(self, who: Requester) -> None:
        """Note that a requester had a turn."""
        self._count += 1
        self._turns[who.party] = self._count

    def forget_absent(self, present: Iterable[SlotRequest]) -> None:
        """Forget the turns of requesters that neither have a slot nor wait for one."""
        parties = {request.who.party for request in present}
        self._turns = {party: turn for party, turn in self._turns.items() if party in parties}


@dataclass(slots=True, eq=False)
class FairSlot:
    """A slot that is held or waited for."""

    who: Requester
    turn: asyncio.Event = field(default_factory=asyncio.Event)


class FairQueue:
    """A limited number of slots, and the queue for them.

    Once there are several callers, none of them ever holds all slots. All jobs together never hold
    all slots, and a caller's jobs never hold all slots that the caller may have.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._shares = FairScheduler()
        self._running: list[FairSlot] = []
        self._waiting: list[FairSlot] = []

    def has_room_for(self, who: Requester) -> bool:
        """Whether a requester would get a slot at once if no other were waiting."""
        own = [slot.who for slot in self._running if slot.who.caller == who.caller]
        most = self._shares.most_for_one(self._count)
        if len(self._running) >= self._count or len(own) >= most:
            return False
        return not who.is_job or (
            sum(slot.who.is_job for slot in self._running) < slots_without_reserve(self._count)
            and sum(other.is_job for other in own) < slots_without_reserve(most)
        )

    async def take(self, who: Requester) -> FairSlot:
        """Wait for a slot; the caller must give it back."""
        self._shares.note_asking(who.caller)
        slot = FairSlot(who)
        self._waiting.append(slot)
        self._assign_slots()
        try:
            await slot.turn.wait()
        except BaseException:
            self.give_back(slot)
            raise
        return slot

    def give_back(self, slot: FairSlot) -> None:
        """Free a slot for others."""
        for slots in (self._running, self._waiting):
            with suppress(ValueError):
                slots.remove(slot)
        self._assign_slots()
        self._shares.forget_absent((*self._running, *self._waiting))

    @asynccontextmanager
    async def hold(self, who: Requester) -> AsyncIterator[None]:
        """Wait for a slot, and hold it until the exit."""
        slot = await self.take(who)
        try:
            yield
        finally:
            self.give_back(slot)

    def _assign_slots(self) -> None:
        while self._waiting and len(self._running) < self._count:
            parties = {slot.who.party: slot.who for slot in self._waiting}
            admitted = {party for party, who in parties.items() if self.has_room_for(who)}
            ready = [slot for slot in self._waiting if slot.who.party in admitted]
            slot = self._shares.choose(ready, self._running)
            if slot is None:
                return
            self._waiting.remove(slot)
            self._running.append(slot)
            self._shares.note_turn(slot.who)
            slot.turn.set()
