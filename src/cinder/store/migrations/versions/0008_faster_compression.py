"""PostgreSQL compresses long texts with lz4, where it can: far faster, for a third more room."""

from alembic import op

revision = "0008"
down_revision = "0007"

COLUMNS = {
    "scrape_cache": ("document", "raw_content", "cleaned_content", "extracted_content"),
    "page_words": ("text",),
    "outbox": ("payload",),
}

# A server may be built without lz4: it goes on as before.
CHOOSE = """
DO $$ BEGIN
    ALTER TABLE webhook.{table} {changes};
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$
"""


def upgrade() -> None:
    """Choose lz4 for what is written from now on; what is there stays as it is."""
    _compress_with("lz4")


def downgrade() -> None:
    """Leave the choice to the server's settings."""
    _compress_with("default")


def _compress_with(method: str) -> None:
    if op.get_context().dialect.name != "postgresql":
        return
    for table, columns in COLUMNS.items():
        changes = ", ".join(f"ALTER COLUMN {name} SET COMPRESSION {method}" for name in columns)
        op.execute(CHOOSE.format(table=table, changes=changes))
