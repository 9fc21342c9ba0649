"""The tables, as SQLAlchemy describes them; migrations make them, and a test compares the two."""

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
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

POSTGRESQL_SCHEMA = "webhook"

# Only a plain INTEGER numbers itself on SQLite.
_ID: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
# SQLite holds texts compressed.
_BODY: TypeEngine[str] = Text().with_variant(LargeBinary(), "sqlite")
_MOMENT = DateTime(timezone=True)


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
    return metadata


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
        Column("expires_at", _MOMENT, nullable=False),
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
        Column("scraped_at", _MOMENT, nullable=False, server_default=text("CURRENT_TIMESTAMP")),
        Column("expires_at", _MOMENT),
        Column("access_count", Integer, nullable=False, server_default=text("0")),
        Column("last_accessed_at", _MOMENT),
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
