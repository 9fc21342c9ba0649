"""The protocol of a search provider, and of the door it goes out by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cinder.errors import CinderError
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


class ProviderFailed(CinderError):
    """The search provider gave no answer."""

    retry_after_seconds: float | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What a provider's server sent back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient(Protocol):
    """Asks a server that the owner chose, through egress."""

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer, whatever its status.

        Raises:
            CinderError: no answer came: egress refused, the name is unknown, it took too long, or
                the body is beyond the limit.
        """
        ...
