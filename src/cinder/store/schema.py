"""The tables as SQLAlchemy describes them; migrations create them, and a test compares both."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.types import TypeEngine

POSTGRESQL_SCHEMA = "webhook"
PAGE_WORDS = "page_words"
"""On SQLite a virtual table, which keeps what it holds in others with names that begin alike."""

# Only a plain INTEGER numbers itself on SQLite.
_ID: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
# SQLite holds texts compressed.
_BODY: TypeEngine[str] = Text().with_variant(LargeBinary(), "sqlite")
_TIMESTAMP = DateTime(timezone=True)


def build_metadata(dialect: str) -> MetaData:
    """Return the tables for SQLAlchemy's dialect of this name; only PostgreSQL has schemas."""
    metadata = MetaData(schema=POSTGRESQL_SCHEMA if dialect == "postgresql" else None)
    versions = _saved_versions(metadata)
    _scrape_cache(metadata, versions)
    bodies = Table(
        "bodies",
        metadata,
        Column("hash", Text, primary_key=True),
        Column("data", LargeBinary, nullable=False),
    )
    _version_bodies(metadata, versions, bodies)
    jobs = _jobs(metadata)
    _frontier_keys(metadata, _frontier(metadata, jobs))
    _job_hosts(metadata, jobs)
    _hosts(metadata)
    _outbox(metadata)
    _schedules(metadata)
    _token_pages(metadata, _tokens(metadata))
    _counts(metadata, is_unlogged=dialect == "postgresql")
    pages = _indexed_pages(metadata, versions)
    if dialect == "postgresql":
        _page_words(metadata, pages)
    _recipes(metadata)
    return metadata


def is_described(name: str | None, kind: str, _parents: object) -> bool:
    """Whether Alembic compares a thing of this name: SQLAlchemy knows nothing of FTS5's tables."""
    return kind != "table" or name is None or not name.startswith(PAGE_WORDS)


def _saved_versions(metadata: MetaData) -> Table:
    """Every version that a `scrape://` URI names.

    A place is found by its hash: PostgreSQL's indexes refuse values as long as URLs may be.
    """
    return Table(
        "saved_versions",
        metadata,
        Column("id", _ID, primary_key=True),
        Column("place_hash", Text, nullable=False),
        Column("saved_at", BigInteger, nullable=False),
        Column("place", Text, nullable=False),
        Column("url", Text, nullable=False),
        Column("url_hash", Text, nullable=False),
        Column("cache_key", Text, nullable=False),
        Column("owner", Text),
        Column("title", Text),
        Column("kind", String(20)),
        Column("mime", Text),
        Column("size", BigInteger),
        Column("expires_at", _TIMESTAMP, nullable=False),
        UniqueConstraint("place_hash", "saved_at", name="saved_versions_place_saved_at_unique"),
        Index("idx_saved_versions_url_hash", "url_hash"),
        Index("idx_saved_versions_expires_at", "expires_at"),
        # An id is never given twice: lists are paged by it.
        sqlite_autoincrement=True,
    )


def _scrape_cache(metadata: MetaData, versions: Table) -> Table:
    """The newest document of each cache key."""
    table = Table(
        "scrape_cache",
        metadata,
        Column("id", _ID, primary_key=True),
        Column("version_id", _ID, ForeignKey(versions.c.id), nullable=False),
        Column("url", Text, nullable=False),
        Column("url_hash", Text, nullable=False),
        Column("cache_key", Text, nullable=False),
        Column("owner", Text),
        Column("extract_query", Text),
        Column("source", String(50), nullable=False),
        Column("content_type", Text),
        Column("content_length_raw", Integer),
        Column("content_length_cleaned", Integer),
        Column("content_length_extracted", Integer),
        Column("screenshot_format", Text),
        Column("strategy_used", Text),
        Column("scrape_options", JSON().with_variant(JSONB(), "postgresql")),
        Column("scraped_at", _TIMESTAMP, nullable=False, server_default=text("CURRENT_TIMESTAMP")),
        Column("expires_at", _TIMESTAMP),
        Column("access_count", Integer, nullable=False, server_default=text("0")),
        Column("last_accessed_at", _TIMESTAMP),
        # Last, because SQLite walks through a row's long values to reach those behind them.
        Column("document", JSON().with_variant(LargeBinary(), "sqlite"), nullable=False),
        Column("raw_content", _BODY),
        Column("cleaned_content", _BODY),
        Column("extracted_content", _BODY),
        Column("screenshot", LargeBinary),
        UniqueConstraint("cache_key", name="scrape_cache_cache_key_unique"),
        UniqueConstraint("version_id", name="scrape_cache_version_id_unique"),
        Index("idx_scrape_cache_url_hash", "url_hash"),
        # PostgreSQL's ordinary index refuses values as long as URLs may be.
        Index("idx_scrape_cache_url", "url", postgresql_using="hash"),
    )
    Index("idx_scrape_cache_scraped_at", table.c.scraped_at.desc())
    is_set = table.c.expires_at.is_not(None)
    Index(
        "idx_scrape_cache_expires_at",
        table.c.expires_at,
        postgresql_where=is_set,
        sqlite_where=is_set,
    )
    return table


def _version_bodies(metadata: MetaData, versions: Table, bodies: Table) -> Table:
    """Which bodies a version had when another took its place."""
    return Table(
        "version_bodies",
        metadata,
        Column("version_id", _ID, ForeignKey(versions.c.id, ondelete="CASCADE"), primary_key=True),
        Column("kind", String(20), primary_key=True),
        Column("mime", Text, nullable=False),
        Column("hash", Text, ForeignKey(bodies.c.hash), nullable=False),
        Index("idx_version_bodies_hash", "hash"),
    )


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


def _index_where(condition: str, name: str, *columns: str) -> Index:
    where = text(condition)
    return Index(name, *columns, postgresql_where=where, sqlite_where=where)


def _jobs(metadata: MetaData) -> Table:
    """The work in the background; times are milliseconds, which compare alike everywhere."""
    return Table(
        "jobs",
        metadata,
        Column("id", Text, primary_key=True),
        Column("kind", String(20), nullable=False),
        Column("owner", Text, nullable=False),
        Column("status", String(20), nullable=False),
        Column("idempotency_key", Text),
        Column("max_pages", Integer, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("seeded_at", BigInteger),
        Column("started_at", BigInteger),
        Column("finished_at", BigInteger),
        Column("expires_at", BigInteger, nullable=False),
        # When its pages were deleted; what is left tells that it was there.
        Column("dropped_at", BigInteger),
        # When somebody should look after it if nobody has by then; none when it is over.
        Column("next_at", BigInteger),
        _count("attempts"),
        # Its URLs: all, and those of each fate; the rest is queued or leased.
        _count("found"),
        _count("fetched"),
        _count("failed"),
        _count("disallowed"),
        _count("outside"),
        _count("duplicates"),
        _count("traps"),
        _count("left_out"),
        # Of those outside the scope, the ones that are deeper than the job may go.
        _count("too_deep"),
        Column("bytes_fetched", BigInteger, nullable=False, server_default=text("0")),
        Column("error", Text),
        Column("spec", _BODY, nullable=False),
        UniqueConstraint("owner", "kind", "idempotency_key", name="jobs_idempotency_key_unique"),
        Index("idx_jobs_next_at", "next_at"),
        Index("idx_jobs_expires_at", "expires_at"),
    )


def _frontier(metadata: MetaData, jobs: Table) -> Table:
    """Every URL that a job has seen: to be fetched, being fetched, or with its fate."""
    return Table(
        "frontier",
        metadata,
        Column("id", _ID, primary_key=True),
        Column("job_id", Text, ForeignKey(jobs.c.id, ondelete="CASCADE"), nullable=False),
        Column("fingerprint", LargeBinary, nullable=False),
        Column("host", Text, nullable=False),
        Column("depth", Integer, nullable=False),
        Column("state", String(10), nullable=False),
        _count("fence"),
        _count("tries"),
        # How often its lease ran out: once in the company of others, then alone.
        _count("crashes"),
        # Numbers without gaps, from 0: among all URLs of the job, among those of its fate, and
        # among those that could not be had.
        Column("position", Integer, nullable=False),
        Column("fate_position", Integer),
        Column("error_position", Integer),
        Column("lease_until", BigInteger),
        Column("fate", String(30)),
        Column("status_code", Integer),
        Column("content_length", BigInteger),
        Column("finished_at", BigInteger),
        Column("template", Text),
        Column("verdict", Text),
        Column("content_exact", LargeBinary),
        Column("url", Text, nullable=False),
        Column("reason", Text),
        Column("title", Text),
        Column("uris", Text),
        Column("content_sketch", LargeBinary),
        UniqueConstraint("job_id", "fingerprint", name="frontier_job_fingerprint_unique"),
        _index_where("state = 'queued'", "idx_frontier_queued", "job_id", "host", "id"),
        _index_where("state = 'leased'", "idx_frontier_leased", "host", "lease_until"),
        _index_where("state = 'leased'", "idx_frontier_job_leased", "job_id", "lease_until"),
        _index_where("state = 'suspect'", "idx_frontier_suspects", "job_id", "crashes", "id"),
        _index_where("content_exact IS NOT NULL", "idx_frontier_exact", "job_id", "content_exact"),
        Index("idx_frontier_position", "job_id", "position"),
        _index_where(
            "fate_position IS NOT NULL", "idx_frontier_fate", "job_id", "fate", "fate_position"
        ),
        _index_where(
            "error_position IS NOT NULL", "idx_frontier_errors", "job_id", "error_position"
        ),
        sqlite_autoincrement=True,
    )


def _frontier_keys(metadata: MetaData, frontier: Table) -> Table:
    """By which a page finds others with nearly its content."""
    return Table(
        "frontier_keys",
        metadata,
        Column("page_id", _ID, ForeignKey(frontier.c.id, ondelete="CASCADE"), primary_key=True),
        Column("key", BigInteger, primary_key=True),
        Column("job_id", Text, nullable=False),
        Index("idx_frontier_keys_job_key", "job_id", "key"),
    )


def _job_hosts(metadata: MetaData, jobs: Table) -> Table:
    """How many URLs of each host wait in a job, and when the job wants to ask for one next."""
    return Table(
        "job_hosts",
        metadata,
        Column("job_id", Text, ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True),
        Column("host", Text, primary_key=True),
        _count("queued"),
        Column("next_at", BigInteger, nullable=False, server_default=text("0")),
    )


def _hosts(metadata: MetaData) -> Table:
    """When each host may be asked next, by all jobs and workers together, and what it allows."""
    return Table(
        "hosts",
        metadata,
        Column("host", Text, primary_key=True),
        Column("next_at", BigInteger, nullable=False, server_default=text("0")),
        _count("delay_ms"),
        Column("robots_status", Integer),
        Column("robots_at", BigInteger),
        _count("robots_failures"),
        Column("robots", LargeBinary),
    )


def _outbox(metadata: MetaData) -> Table:
    """What webhooks are to be told, written together with what it tells of."""
    return Table(
        "outbox",
        metadata,
        Column("id", _ID, primary_key=True),
        Column("job_id", Text, nullable=False),
        Column("owner", Text, nullable=False),
        Column("event", String(30), nullable=False),
        Column("state", String(10), nullable=False),
        _count("tries"),
        Column("created_at", BigInteger, nullable=False),
        Column("next_at", BigInteger, nullable=False),
        Column("finished_at", BigInteger),
        Column("url", Text, nullable=False),
        Column("error", Text),
        Column("payload", _BODY, nullable=False),
        _index_where("state = 'waiting'", "idx_outbox_next_at", "next_at"),
        Index("idx_outbox_job_id", "job_id", "id"),
        sqlite_autoincrement=True,
    )


def _schedules(metadata: MetaData) -> Table:
    """Jobs that begin by the clock."""
    return Table(
        "schedules",
        metadata,
        Column("name", Text, primary_key=True),
        Column("owner", Text, nullable=False),
        Column("kind", String(20), nullable=False),
        Column("cron", Text, nullable=False),
        Column("next_at", BigInteger, nullable=False),
        Column("spec", _BODY, nullable=False),
        Index("idx_schedules_next_at", "next_at"),
    )


def _tokens(metadata: MetaData) -> Table:
    """Tokens that callers send. Times are milliseconds; of the secret only a hash is kept."""
    return Table(
        "tokens",
        metadata,
        Column("id", Text, primary_key=True),
        Column("name", Text, nullable=False),
        Column("secret_hash", Text, nullable=False),
        Column("scopes", Text, nullable=False),
        Column("policy", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("last_used_at", BigInteger),
        UniqueConstraint("name", name="tokens_name_unique"),
        UniqueConstraint("secret_hash", name="tokens_secret_hash_unique"),
    )


def _token_pages(metadata: MetaData, tokens: Table) -> None:
    """How many pages each token has had fetched on a day (UTC), written as `2026-01-31`."""
    Table(
        "token_pages",
        metadata,
        Column("token_id", Text, ForeignKey(tokens.c.id, ondelete="CASCADE"), primary_key=True),
        Column("day", Text, primary_key=True),
        Column("pages", BigInteger, nullable=False),
    )


def _counts(metadata: MetaData, *, is_unlogged: bool) -> None:
    """Counts that servers share, until a moment in milliseconds."""
    Table(
        "counts",
        metadata,
        Column("name", Text, primary_key=True),
        Column("amount", BigInteger, nullable=False),
        Column("ends_at", BigInteger, nullable=False),
        prefixes=["UNLOGGED"] if is_unlogged else [],
    )


def _indexed_pages(metadata: MetaData, versions: Table) -> Table:
    """The pages that can be searched: of each URL the newest version, for all or for its owner.

    Times are milliseconds. A version that is deleted takes its page along, and that its words.
    """
    version = ForeignKey(versions.c.id, ondelete="CASCADE")
    return Table(
        "indexed_pages",
        metadata,
        Column("id", _ID, primary_key=True),
        Column("version_id", _ID, version, nullable=False),
        # Of the URL and the owner.
        Column("page_hash", Text, nullable=False),
        Column("owner", Text),
        # The version's, which searches would take long to look up.
        Column("expires_at", _TIMESTAMP, nullable=False),
        Column("site", Text, nullable=False),
        Column("published_at", BigInteger),
        Column("first_seen_at", BigInteger, nullable=False),
        # The same for pages with the same words.
        Column("content", BigInteger, nullable=False),
        Column("vector", LargeBinary),
        Column("title", Text, nullable=False),
        UniqueConstraint("page_hash", name="indexed_pages_page_hash_unique"),
        Index("idx_indexed_pages_version_id", "version_id"),
    )


def _page_words(metadata: MetaData, pages: Table) -> Table:
    """The words of the pages, as PostgreSQL looks for them."""
    page = ForeignKey(pages.c.id, ondelete="CASCADE")
    return Table(
        PAGE_WORDS,
        metadata,
        Column("id", _ID, page, primary_key=True, autoincrement=False),
        Column("text", Text, nullable=False),
        Column("words", TSVECTOR, nullable=False),
        Index("idx_page_words_words", "words", postgresql_using="gin"),
    )


def _recipes(metadata: MetaData) -> Table:
    """Where the pages of a site hold the values of a schema. Times are milliseconds.

    A place is found by its hash: PostgreSQL's indexes refuse values as long as paths may be.
    """
    return Table(
        "recipes",
        metadata,
        Column("id", _ID, primary_key=True),
        # Of the site, the shape, the wish and the owner.
        Column("place_hash", Text, nullable=False),
        Column("site", Text, nullable=False),
        Column("shape", Text, nullable=False),
        Column("wish", Text, nullable=False),
        Column("owner", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("used_at", BigInteger, nullable=False),
        _count("uses"),
        _count("successes"),
        _count("failures"),
        Column("learned_from", Text, nullable=False),
        Column("summary", Text, nullable=False),
        Column("rules", _BODY, nullable=False),
        UniqueConstraint("place_hash", name="recipes_place_hash_unique"),
        Index("idx_recipes_wish_site", "wish", "site"),
        Index("idx_recipes_used_at", "used_at"),
        # An id is never given twice: it names the recipe to whoever deletes it.
        sqlite_autoincrement=True,
    )
