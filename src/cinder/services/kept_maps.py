"""Keeps maps of sites for a few minutes, so that their next parts cost the site nothing."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cinder.models.site_map import MAX_URLS, MappedUrl
from cinder.services.jobs.specs import MapRequest

KEPT_SECONDS = 300.0
"""A part of a map that was made longer ago is made again."""

MAX_KEPT_WEIGHT = 3 * MAX_URLS
"""The most that all kept maps weigh; a URL weighs 1."""

MAP_WEIGHT = 100
"""What a map weighs without its URLs.

Every other `search` is a map of its own, and those that find nothing take memory as well: for
their request and their warnings.
"""

# A kept map answers the next part if it has at least so much of it.
_ENOUGH = 1_000


@dataclass(frozen=True, slots=True)
class MadeMap:
    """The URLs of a site as they are found, or as many as a request needed."""

    urls: Sequence[MappedUrl]
    warnings: tuple[str, ...]
    is_whole: bool


class KeptMaps:
    """The maps made last, by their requests without the part that they ask for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._weight = 0
        # The oldest comes first.
        self._kept: OrderedDict[MapRequest, tuple[MadeMap, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, request: MapRequest) -> MadeMap | None:
        """Return the map that a request asks for the next part of."""
        found = self._kept.get(_key(request)) if request.offset else None
        if found is None or self._clock() - found[1] > KEPT_SECONDS:
            return None
        kept, _ = found
        is_enough = len(kept.urls) >= request.offset + min(request.limit, _ENOUGH)
        return kept if kept.is_whole or is_enough else None

    def keep(self, request: MapRequest, made: MadeMap) -> None:
        """Keep a map, and drop those that are too old or too much."""
        now, key = self._clock(), _key(request)
        if key in self._kept:
            self._weight -= _weigh(self._kept.pop(key)[0])
        self._kept[key] = made, now
        self._weight += _weigh(made)
        while self._weight > MAX_KEPT_WEIGHT or self._is_first_expired(now):
            _, (dropped, _) = self._kept.popitem(last=False)
            self._weight -= _weigh(dropped)

    def _is_first_expired(self, now: float) -> bool:
        _, made_at = next(iter(self._kept.values()))
        return now - made_at > KEPT_SECONDS


def _key(request: MapRequest) -> MapRequest:
    return replace(request, offset=0, limit=1, timeout_ms=1)


def _weigh(made: MadeMap) -> int:
    return len(made.urls) + MAP_WEIGHT
