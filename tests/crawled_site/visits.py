"""The website's memory of its visitors: who asked for what and when, and how many at once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Visit:
    """A request and its answer; times are seconds of the website's own steady clock."""

    host: str
    path: str
    status: int
    started: float
    ended: float
    # How many requests of the host were under way when this one began, itself included.
    at_once: int
    user_agent: str


@dataclass(frozen=True, slots=True)
class Visits:
    """The visits of a website that have been answered, in the order in which they began."""

    all: Sequence[Visit]

    def times(self) -> Counter[str]:
        """Return how often each path was asked for."""
        return Counter(visit.path for visit in self.all)

    def max_at_once(self) -> int:
        """Return the most requests that one host answered at the same time."""
        return max((visit.at_once for visit in self.all), default=0)

    def min_gap_seconds(self) -> float:
        """Return the least time between the beginnings of two requests to one host."""
        return min(self._gaps(), default=float("inf"))

    def _gaps(self) -> Iterator[float]:
        for host in {visit.host for visit in self.all}:
            starts = sorted(visit.started for visit in self.all if visit.host == host)
            yield from (later - earlier for earlier, later in pairwise(starts))


@dataclass(slots=True)
class VisitorBook:
    """Where the website writes its visits down."""

    visits: list[Visit] = field(default_factory=list)
    times: Counter[str] = field(default_factory=Counter)
    under_way: Counter[str] = field(default_factory=Counter)

    def forget(self) -> None:
        """Begin anew, but for the requests that are under way."""
        self.visits.clear()
        self.times.clear()
