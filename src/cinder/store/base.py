"""The store's protocols and values, and the timing of its database operations."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Protocol, Self, TypeVar

from cinder.models.caller import Token
from cinder.models.document import Document, Json
from cinder.models.recipe import KeptRecipe, Recipe, RecipePlace
from cinder.models.saved import SavedBody, SavedDocument, SavedKind, SavedListing, Version
from cinder.models.search import SearchFilters
from cinder.store.database import Database, Query, SqlDialect
from cinder.store.ledger_base import Ledger, Outbox, PageCommit


class SharedCounts(Protocol):
    """Counts by name, each for some time.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def add(self, name: str, amount: int, seconds: int) -> int:
        """Add to a count, which begins anew so many seconds after its first; return what it is."""
        ...

    async def read(self, name: str, *, seconds: int = ...) -> tuple[int, float]:
        """Return a count, zero where there is none, and when (in Unix time) it begins anew.

        One that ends later than after so many seconds is none: the clock was set back.
        """
        ...

    async def drop(self, name: str) -> None:
        """Begin a count anew."""
        ...

    async def drop_old(self) -> None:
        """Delete counts that are over."""
        ...


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipe:
    """A recipe to be kept."""

    place: RecipePlace
    summary: str
    recipe: Recipe
    learned_from: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeLimits:
    """How many recipes are kept, and how long after they were last tried."""

    most: int
    days: int


class RecipeBook(Protocol):
    """Keeps recipes.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def find(self, place: RecipePlace, *, limit: int) -> list[KeptRecipe]:
        """Return the recipes for a wish on a site that the place's owner may use.

        Those for pages of its shape come first, one's own before everybody's, then those that
        were tried last. Without an owner, only what is everybody's.
        """
        ...

    async def keep(self, new: NewRecipe, limits: RecipeLimits) -> KeptRecipe:
        """Keep a recipe, over the one of its place; those beyond the limits go."""
        ...

    async def note_success(self, recipe_id: int) -> None:
        """Note that a recipe held on a page: its next failure is the first in a row."""
        ...

    async def note_failure(self, recipe_id: int, most: int) -> bool:
        """Note that a recipe failed on a page; True if it is deleted, for so many in a row."""
        ...

    async def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> list[KeptRecipe]:
        """Return recipes as an operator sees them, whosever they are: newest first, of one site.

        At most 1,000 at once, whatever the limit.
        """
        ...

    async def find_recipe(self, recipe_id: int) -> KeptRecipe | None:
        """Return a recipe as an operator sees it."""
        ...

    async def delete(self, recipe_id: int) -> bool:
        """Delete a recipe; False if there is none."""
        ...

    async def delete_site(self, site: str | None) -> int:
        """Delete the recipes of a site, or all; return how many."""
        ...


class TokenTaken(ValueError):
    """There is a token of this name already."""


class TokenStore(Protocol):
    """Keeps tokens by the hash of their secret.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def add(self, token: Token, secret_hash: str) -> None:
        """Keep a new token.

        Raises:
            TokenTaken: another has its name.
        """
        ...

    async def find(self, secret_hash: str) -> Token | None:
        """Return the token with this secret; None where there is none."""
        ...

    async def find_by_id(self, token_id: str) -> Token | None:
        """Return the token of this id; None where there is none, or none any more."""
        ...

    async def list_all(self) -> list[Token]:
        """Return all tokens, by name."""
        ...

    async def remove(self, name: str) -> bool:
        """Delete the token of this name; False where there is none."""
        ...

    async def note_use(self, token_id: str) -> None:
        """Note that a token has just been used."""
        ...

    async def spend_page(self, token_id: str, day: date, most: int) -> bool:
        """Count one page to a day; False, and nothing counted, where the day has had so many."""
        ...


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
        self, document: Document, key: EntryKey, page_commit: PageCommit | None = None
    ) -> SavedDocument:
        """Keep a document as the newest under its key; what was newest stays readable by URI.

        NULs and lone surrogates, which PostgreSQL cannot hold, are kept as U+FFFD. The settlement
        is written in the same transaction.
        """
        ...

    async def save_unless_good(
        self, document: Document, key: EntryKey, page_commit: PageCommit | None = None
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


T = TypeVar("T")


class TimedDatabase:
    """Runs procedures under a name, and tells how long each took."""

    def __init__(self, database: Database, observe: QueryObserver) -> None:
        self._database = database
        self._observe = observe

    @property
    def dialect(self) -> SqlDialect:
        """How the database writes values."""
        return self._database.dialect

    async def read(self, operation: str, start: Callable[[], Query[T]]) -> T:
        """Run a procedure that only reads."""
        return await self._timed(operation, self._database.read(start))

    async def write(
        self, operation: str, start: Callable[[], Query[T]], *, together: str | None = None
    ) -> T:
        """Run a procedure in a transaction."""
        return await self._timed(operation, self._database.write(start, together=together))

    async def _timed(self, operation: str, work: Awaitable[T]) -> T:
        start = time.perf_counter()
        try:
            return await work
        finally:
            self._observe(operation, time.perf_counter() - start)
