"""Pages that a process died with wait for the others, and are fetched alone."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

SUSPECTS = "idx_frontier_suspects"


def upgrade() -> None:
    """Add the column and its index."""
    column = sa.Column("crashes", sa.Integer(), nullable=False, server_default=sa.text("0"))
    op.add_column("frontier", column, schema=_schema())
    condition = sa.text("state = 'suspect'")
    op.create_index(
        SUSPECTS,
        "frontier",
        ["job_id", "crashes", "id"],
        schema=_schema(),
        postgresql_where=condition,
        sqlite_where=condition,
    )


QUEUE_SUSPECTS = """
UPDATE {schema}job_hosts SET queued = queued + (
       SELECT count(*) FROM {schema}frontier f
        WHERE f.job_id = job_hosts.job_id AND f.host = job_hosts.host AND f.state = 'suspect')
"""


def downgrade() -> None:
    """Drop them; suspects are pages like any other again."""
    prefix = "webhook." if _schema() else ""
    op.execute(QUEUE_SUSPECTS.format(schema=prefix))
    op.execute(f"UPDATE {prefix}frontier SET state = 'queued' WHERE state = 'suspect'")  # noqa: S608
    op.drop_index(SUSPECTS, "frontier", schema=_schema())
    op.drop_column("frontier", "crashes", schema=_schema())


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None
