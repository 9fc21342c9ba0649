"""The store's protocol: everything that is kept, whichever database keeps it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self

from cinder.model.document import Document, Json
from cinder.model.saved import SavedBody, SavedDocument, SavedKind, SavedListing, Version
from cinder.store.count_base import SharedCounts
from cinder.store.index_base import PageIndex
from cinder.store.ledger_base import Ledger, Settlement
from cinder.store.outbox_base import Outbox
from cinder.store.recipe_base import RecipeBook
from cinder.store.token_base import TokenStore

# Called after each database operation with its name and the seconds it took.
QueryObserver = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryKey:
    """Under what a document is cached, and for whom and how long it is kept."""

    cache_key: str
    options: dict[str, Json]
    """The request's options as they may be shown: credentials are not among them."""
    owner: str | None
    """The caller who alone may see it; None where all may."""
    expires_at: datetime
    extract_query: str | None = None
    content_key: str | None = None
    """What the document may be compared by with others of its URL; None where it may not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySummary:
    """A cache entry as an operator sees it."""

    url: str
    cache_key: str
    scraped_at: datetime
    expires_at: datetime | None
    access_count: int
    last_accessed_at: datetime | None
    raw_length: int | None
    cleaned_length: int | None
    uri: str
    """Where its newest version can be read."""


class Store(Protocol):
    """Keeps scraped documents: the newest under its cache key, every version under its URI.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def find(self, cache_key: str) -> SavedDocument | None:
        """Return the newest document under this key, unless it has expired; count the access."""
        ...

    async def find_comparable(
        self, url: str, content_key: str, caller: str
    ) -> SavedDocument | None:
        """Return the newest document of a URL under this content key that the caller may see."""
        ...

    async def find_versions(
        self, versions: Sequence[Version], caller: str, *, with_raw: bool = True
    ) -> list[SavedDocument | None]:
        """Return the document of each version; None where there is none this caller may see.

        Without what the server sent, be it text or a file, far less is read.
        """
        ...

    @property
    def ledger(self) -> Ledger:
        """The jobs in the same database."""
        ...

    @property
    def outbox(self) -> Outbox:
        """What webhooks are to be told of those jobs."""
        ...

    @property
    def index(self) -> PageIndex:
        """The pages in the same database, to be found by their words."""
        ...

    @property
    def recipes(self) -> RecipeBook:
        """What was learned of sites, in the same database."""
        ...

    @property
    def tokens(self) -> TokenStore:
        """The tokens of callers."""
        ...

    @property
    def counts(self) -> SharedCounts:
        """Counts that all who share the database share."""
        ...

    async def save(
        self, document: Document, key: EntryKey, settlement: Settlement | None = None
    ) -> SavedDocument:
        """Keep a document as the newest under its key; what was newest stays readable by URI.

        NULs and lone surrogates, which PostgreSQL cannot hold, are kept as U+FFFD. The settlement
        is written in the same transaction.
        """
        ...

    async def save_unless_good(
        self, document: Document, key: EntryKey, settlement: Settlement | None = None
    ) -> SavedDocument | None:
        """Save a document, but not over one whose verdict is `ok`; None if there is one."""
        ...

    async def mark_revalidated(
        self, saved: SavedDocument, at: datetime, expires_at: datetime
    ) -> None:
        """Note that the origin confirmed a document to be current, if it still is the newest."""
        ...

    async def read(self, version: Version, kind: SavedKind, caller: str) -> SavedBody | None:
        """Return one body of a saved version, or None where there is none this caller may see."""
        ...

    async def list_saved(
        self, caller: str, *, before_id: int | None = None, limit: int = 100
    ) -> list[SavedListing]:
        """Return saved versions the caller may see, newest first, from below an id.

        At most 1,000 at once, whatever the limit.
        """
        ...

    async def list_versions(
        self, place: str, caller: str, *, limit: int, plain_only: bool = False
    ) -> list[Version]:
        """Return the versions of one page that the caller may see, newest first.

        Plain are those that no headers, selectors, actions or prompt of a caller's shaped.
        """
        ...

    async def list_places(self, beginning: str, caller: str, *, limit: int) -> list[str]:
        """Return the pages lately saved whose places begin so, the newest first."""
        ...

    async def list_entries(self, url: str) -> list[EntrySummary]:
        """Return every cache entry of a URL, newest first."""
        ...

    async def invalidate_url(self, url: str) -> int:
        """Delete every cache entry of a URL with all its versions; return how many entries."""
        ...

    async def delete_expired(self, now: datetime) -> int:
        """Delete what has expired by then; return how many versions went."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be kept: the disk was full, and no room was found since."""
        ...

    async def check(self) -> None:
        """Return if the database answers and is whole enough to work with."""
        ...
