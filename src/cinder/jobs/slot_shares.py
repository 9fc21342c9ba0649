"""Slot shares: whose jobs a process works on, so that no caller's many keep it from another's."""

import random
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from cinder.model.request import OWNER
from cinder.shares import all_but_a_few
from cinder.store.ledger_base import Ledger

# How long what is known of the callers holds.
_LOOK_SECONDS = 0.5
_PUT_OFF_SECONDS = 4


def share_of_slots(slots: int, owners: Collection[str]) -> int:
    """Return how many slots the jobs of one caller may have, given who has jobs under way.

    As long as that is the owner alone, all of them.
    """
    most = slots if set(owners) <= {OWNER} else all_but_a_few(slots)
    return max(1, min(most, slots // max(1, len(owners))))


class SlotShares:
    """Tells whether a job may have a slot now, or has to wait for others of its caller's."""

    def __init__(self, ledger: Ledger, slots: int) -> None:
        self._ledger = ledger
        self._slots = slots
        self._at_work: Counter[str] = Counter()
        # Whose the jobs are that were put off, which come back before they have their turn.
        self._put_off: dict[str, str] = {}
        self._share = slots
        self._known_until = 0.0

    async def is_put_off(self, job_id: str) -> bool:
        """Whether a job that had to wait has to go on waiting."""
        owner = self._put_off.get(job_id)
        return owner is not None and not await self._has_room_for(owner)

    @contextmanager
    def work_on(self, job_id: str, owner: str) -> Iterator[None]:
        """Have a job of somebody's at work until the exit."""
        self._put_off.pop(job_id, None)
        self._at_work[owner] += 1
        try:
            yield
        finally:
            self._at_work[owner] -= 1
            self._at_work += Counter()  # drops those who have none

    async def must_wait(self, job_id: str, owner: str) -> bool:
        """Whether the caller has his share of slots already; then the job is to come back."""
        if await self._has_room_for(owner):
            return False
        self._put_off[job_id] = owner
        return True

    def wait_seconds(self) -> float:
        """Return in how many seconds a job that has to wait is to come back."""
        # Those that were put off together are not to come back together.
        return _PUT_OFF_SECONDS * random.uniform(0.5, 1)  # noqa: S311 - no secret

    def forget(self, job_id: str) -> None:
        """Note that a job is over."""
        self._put_off.pop(job_id, None)

    async def _has_room_for(self, owner: str) -> bool:
        if time.monotonic() >= self._known_until:
            owners = await self._ledger.list_open_owners()
            self._share = share_of_slots(self._slots, owners)
            self._known_until = time.monotonic() + _LOOK_SECONDS
        return self._at_work[owner] < self._share
