"""Tokens of callers, how many pages each has fetched on a day, and counts that servers share."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables."""
    schema = _schema()
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger()),
        sa.UniqueConstraint("name", name="tokens_name_unique"),
        sa.UniqueConstraint("secret_hash", name="tokens_secret_hash_unique"),
        schema=schema,
    )
    token = f"{schema}.tokens.id" if schema else "tokens.id"
    op.create_table(
        "token_pages",
        sa.Column(
            "token_id", sa.Text(), sa.ForeignKey(token, ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("day", sa.Text(), primary_key=True),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        schema=schema,
    )

    # Lost with a crash, and written with every request: not worth a log.
    unlogged = ["UNLOGGED"] if schema else []
    op.create_table(
        "counts",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        schema=schema,
        prefixes=unlogged,
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in ("counts", "token_pages", "tokens"):
        op.drop_table(table, schema=_schema())


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None
