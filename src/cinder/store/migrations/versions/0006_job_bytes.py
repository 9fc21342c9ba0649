"""Jobs know how many bytes their pages had."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column."""
    column = sa.Column(
        "bytes_fetched", sa.BigInteger(), nullable=False, server_default=sa.text("0")
    )
    op.add_column("jobs", column, schema=_schema())


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("jobs", "bytes_fetched", schema=_schema())


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None
