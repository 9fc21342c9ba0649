"""The local index's protocol: full-text search over every page that is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from cinder.model.saved import Version
from cinder.model.search import SearchFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """What is looked for: words, `"phrases"` and `-words` to leave out, as a person types them."""

    text: str
    caller: str
    """Who asks: private pages are found by their owner alone."""
    offset: int = 0
    limit: int = 20
    filters: SearchFilters = field(default_factory=SearchFilters)
    domains: tuple[str, ...] = ()
    """The only domains whose pages the one who asks may see; none for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedPage:
    """A page that was found, by its newest version."""

    url: str
    title: str
    passage: str
    """The part of its text that matches best, as plain text."""
    score: float
    """Higher is better; comparable within one answer."""
    version: Version
    published_at: datetime | None
    first_seen_at: datetime


class Embedder(Protocol):
    """Tells what a text is about, as bytes that can be compared. Not for the event loop."""

    def embed(self, title: str, text: str) -> bytes:
        """Return what a page, or a query without a title, is about."""
        ...

    def compare(self, query: bytes, pages: Sequence[bytes]) -> list[float]:
        """Return how near each page is to a query; higher is nearer."""
        ...


class PageIndex(Protocol):
    """Finds saved pages by their words. Pages enter it in the transaction that saves them.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    @property
    def has_embeddings(self) -> bool:
        """Whether pages are ranked by their meaning as well as by their words."""
        ...

    async def search(self, query: IndexQuery) -> list[IndexedPage]:
        """Return the pages that match best, the best first; each URL once."""
        ...

    async def count(self) -> int:
        """Return how many pages the index holds."""
        ...

    async def rebuild(self) -> int:
        """Make the index anew from what is kept; return how many pages are in it.

        Pages can be saved and looked for meanwhile; each is found all the time.
        """
        ...
