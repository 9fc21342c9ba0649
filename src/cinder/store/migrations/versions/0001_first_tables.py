"""The first tables: cache entries, saved versions and the bodies of replaced ones."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BODY = sa.Text().with_variant(sa.LargeBinary(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    schema = _schema()
    _create_saved_versions(schema)
    _create_scrape_cache(schema)
    _create_bodies(schema)


def downgrade() -> None:
    """Drop the tables."""
    for table in ("version_bodies", "bodies", "scrape_cache", "saved_versions"):
        op.drop_table(table, schema=_schema())


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None


def _column(table: str, column: str, schema: str | None) -> str:
    return f"{schema}.{table}.{column}" if schema else f"{table}.{column}"


def _create_saved_versions(schema: str | None) -> None:
    op.create_table(
        "saved_versions",
        sa.Column("id", ID, primary_key=True),
        sa.Column("place_hash", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_hash", sa.Text(), nullable=False),
        sa.Column("cache_key", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("title", sa.Text()),
        sa.Column("kind", sa.String(20)),
        sa.Column("mime", sa.Text()),
        sa.Column("size", sa.BigInteger()),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.UniqueConstraint("place_hash", "saved_at", name="saved_versions_place_saved_at_unique"),
        schema=schema,
        sqlite_autoincrement=True,
    )
    for column in ("url_hash", "expires_at"):
        op.create_index(f"idx_saved_versions_{column}", "saved_versions", [column], schema=schema)


def _create_scrape_cache(schema: str | None) -> None:
    op.create_table(
        "scrape_cache",
        sa.Column("id", ID, primary_key=True),
        sa.Column(
            "version_id",
            ID,
            sa.ForeignKey(_column("saved_versions", "id", schema)),
            nullable=False,
        ),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_hash", sa.Text(), nullable=False),
        sa.Column("cache_key", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("extract_query", sa.Text()),
        sa.Column("source", sa.String(50), nullable=False),
        sa.Column("content_type", sa.Text()),
        sa.Column("content_length_raw", sa.Integer()),
        sa.Column("content_length_cleaned", sa.Integer()),
        sa.Column("content_length_extracted", sa.Integer()),
        sa.Column("screenshot_format", sa.Text()),
        sa.Column("strategy_used", sa.Text()),
        sa.Column("scrape_options", sa.JSON().with_variant(JSONB(), "postgresql")),
        sa.Column("scraped_at", MOMENT, nullable=False, server_default=sa.func.current_timestamp()),
        sa.Column("expires_at", MOMENT),
        sa.Column("access_count", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("last_accessed_at", MOMENT),
        sa.Column("document", sa.JSON().with_variant(sa.LargeBinary(), "sqlite"), nullable=False),
        sa.Column("raw_content", BODY),
        sa.Column("cleaned_content", BODY),
        sa.Column("extracted_content", BODY),
        sa.Column("screenshot", sa.LargeBinary()),
        sa.UniqueConstraint("cache_key", name="scrape_cache_cache_key_unique"),
        sa.UniqueConstraint("version_id", name="scrape_cache_version_id_unique"),
        schema=schema,
    )
    _index_scrape_cache(schema)


def _index_scrape_cache(schema: str | None) -> None:
    is_set = sa.text("expires_at IS NOT NULL")
    table = "scrape_cache"
    op.create_index("idx_scrape_cache_url_hash", table, ["url_hash"], schema=schema)
    op.create_index("idx_scrape_cache_url", table, ["url"], schema=schema, postgresql_using="hash")
    op.create_index(
        "idx_scrape_cache_scraped_at", table, [sa.text("scraped_at DESC")], schema=schema
    )
    op.create_index(
        "idx_scrape_cache_expires_at",
        table,
        ["expires_at"],
        schema=schema,
        postgresql_where=is_set,
        sqlite_where=is_set,
    )


def _create_bodies(schema: str | None) -> None:
    op.create_table(
        "bodies",
        sa.Column("hash", sa.Text(), primary_key=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        schema=schema,
    )
    op.create_table(
        "version_bodies",
        sa.Column(
            "version_id",
            ID,
            sa.ForeignKey(_column("saved_versions", "id", schema), ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("kind", sa.String(20), primary_key=True),
        sa.Column("mime", sa.Text(), nullable=False),
        sa.Column(
            "hash", sa.Text(), sa.ForeignKey(_column("bodies", "hash", schema)), nullable=False
        ),
        schema=schema,
    )
    op.create_index("idx_version_bodies_hash", "version_bodies", ["hash"], schema=schema)
