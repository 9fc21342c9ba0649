"""A job that wants time between its requests paces itself, and no other job."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column."""
    column = sa.Column("next_at", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    op.add_column("job_hosts", column, schema=_schema())


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("job_hosts", "next_at", schema=_schema())


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None
