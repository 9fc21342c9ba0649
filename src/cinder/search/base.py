"""The protocol of a search provider, and of the door it goes out by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cinder.errors import CinderError
from cinder.model.http import HttpAnswer
from cinder.model.search import SearchFilters, SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderQuery:
    """What one provider is asked for: a page of its results.

    Filters are hints: a provider that can narrow its search does; whoever asks checks every hit.
    """

    text: str
    caller: str
    page: int = 0
    """From 0; a provider that knows no pages answers page 0 alone, then nothing."""
    count: int = 20
    """How many hits are wanted; a provider may give fewer or more."""
    filters: SearchFilters = field(default_factory=SearchFilters)


@dataclass
class ProviderFailed(CinderError):
    """The search provider gave no answer."""

    retry_after_seconds: float | None = field(default=None, kw_only=True)
    """When it may answer again, where that is known."""

    __hash__ = Exception.__hash__


class Provider(Protocol):
    """Finds pages for a query."""

    @property
    def name(self) -> str:
        """What it is called in settings and in answers."""
        ...

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return what it finds, the best first.

        Raises:
            ProviderFailed: it is down, refuses, is blocked, or answers what cannot be understood.
        """
        ...


class HttpClient(Protocol):
    """Asks a server that the owner chose, through egress.

    Either method raises `CinderError` where no answer came: egress refused, the name is unknown,
    or it took too long. A body beyond the limit is cut, and the answer says so.
    """

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer, whatever its status."""
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a body; return the answer, whatever its status."""
        ...
