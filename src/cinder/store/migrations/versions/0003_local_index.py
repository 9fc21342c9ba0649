"""The local index: the pages that can be searched, and their words."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0003"
down_revision = "0002"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

FTS5 = """
CREATE VIRTUAL TABLE page_words
USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2')
"""

# Deleting a version deletes its page, and a virtual table cannot refer to a row by itself.
FORGET_WORDS = """
CREATE TRIGGER forget_page_words AFTER DELETE ON indexed_pages
BEGIN
    DELETE FROM page_words WHERE rowid = old.id;
END
"""

# English stems and no stop words: a phrase may be made of them, and queries have their own list.
TEXT_SEARCH = """
CREATE TEXT SEARCH DICTIONARY webhook.cinder_stem (TEMPLATE = snowball, Language = english);
CREATE TEXT SEARCH CONFIGURATION webhook.cinder_words (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION webhook.cinder_words
    ALTER MAPPING FOR asciiword, word, numword WITH webhook.cinder_stem;
"""

# Reading every page's words takes far longer than PostgreSQL believes: it must use the index.
PAGES_WITH = """
CREATE FUNCTION webhook.pages_with(query tsquery, most bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE ROWS 1000 SET enable_seqscan = off
AS $$ SELECT id FROM webhook.page_words WHERE words @@ query ORDER BY id DESC LIMIT most $$
"""


def upgrade() -> None:
    """Create the tables."""
    schema = _schema()
    version = sa.ForeignKey(_column("saved_versions", "id", schema), ondelete="CASCADE")
    op.create_table(
        "indexed_pages",
        sa.Column("id", ID, primary_key=True),
        sa.Column("version_id", ID, version, nullable=False),
        sa.Column("page_hash", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("published_at", sa.BigInteger()),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.BigInteger(), nullable=False),
        sa.Column("vector", sa.LargeBinary()),
        sa.Column("title", sa.Text(), nullable=False),
        sa.UniqueConstraint("page_hash", name="indexed_pages_page_hash_unique"),
        schema=schema,
    )
    op.create_index("idx_indexed_pages_version_id", "indexed_pages", ["version_id"], schema=schema)
    if schema:
        _create_page_words(schema)
    else:
        op.execute(FTS5)
        op.execute(FORGET_WORDS)


def downgrade() -> None:
    """Drop the tables."""
    schema = _schema()
    if schema:
        op.execute("DROP FUNCTION webhook.pages_with")
    # FTS5's own tables go with it.
    op.drop_table("page_words", schema=schema)
    op.drop_table("indexed_pages", schema=schema)
    if schema:
        op.execute("DROP TEXT SEARCH CONFIGURATION webhook.cinder_words")
        op.execute("DROP TEXT SEARCH DICTIONARY webhook.cinder_stem")


def _create_page_words(schema: str) -> None:
    for statement in TEXT_SEARCH.strip().rstrip(";").split(";"):
        op.execute(statement.strip())
    page = sa.ForeignKey(_column("indexed_pages", "id", schema), ondelete="CASCADE")
    op.create_table(
        "page_words",
        sa.Column("id", ID, page, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("words", TSVECTOR(), nullable=False),
        schema=schema,
    )
    op.create_index(
        "idx_page_words_words", "page_words", ["words"], schema=schema, postgresql_using="gin"
    )
    op.execute(PAGES_WITH)


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None


def _column(table: str, column: str, schema: str | None) -> str:
    return f"{schema}.{table}.{column}" if schema else f"{table}.{column}"
