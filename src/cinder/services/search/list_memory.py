"""The memory of ranked lists: each for an hour, all of them bounded."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from cinder.services.search.ranked_list import RankedList

HELD_SECONDS = 3_600.0


class ListMemory:
    """Holds the lists of searches, so that their next pages neither repeat nor skip a result."""

    def __init__(
        self,
        *,
        max_lists: int = 500,
        max_results: int = 20_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._max_lists = max_lists
        self._max_results = max_results
        self._lists: OrderedDict[Hashable, RankedList] = OrderedDict()

    def find(self, key: Hashable) -> RankedList | None:
        """Return the list of a search; None where there is none, or its hour is over."""
        held = self._lists.get(key)
        if held is None:
            return None
        if self.clock() - held.began_at >= HELD_SECONDS:
            del self._lists[key]
            return None
        self._lists.move_to_end(key)
        return held

    def hold(self, key: Hashable, ranked: RankedList) -> None:
        """Hold a list, in the place of the one that was there."""
        self._lists[key] = ranked
        self._lists.move_to_end(key)

    def drop(self, key: Hashable, ranked: RankedList) -> None:
        """Hold a list no longer."""
        if self._lists.get(key) is ranked:
            del self._lists[key]

    def tidy(self) -> None:
        """Let go of what has not been used for longest, until the rest is within the limits."""
        held = sum(len(ranked.results) for ranked in self._lists.values())
        while self._lists and (len(self._lists) > self._max_lists or held > self._max_results):
            _, oldest = self._lists.popitem(last=False)
            held -= len(oldest.results)
