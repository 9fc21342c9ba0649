"""The ledger costs the same at any size: numbers in the job's row, and places in its lists.

Also, pages that a process died with wait for the others, and are fetched alone.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NEW_COUNTS = ("disallowed", "outside", "duplicates", "traps", "left_out", "too_deep")

# What every job has counted so far, and each of its URLs' places.
COUNT = """
UPDATE {schema}jobs SET
    disallowed = {count} AND f.fate = 'disallowed by robots'),
    outside = {count} AND f.fate = 'outside scope'),
    duplicates = {count} AND f.fate = 'duplicate of'),
    traps = {count} AND f.fate = 'trap'),
    left_out = {count} AND f.fate = 'left out'),
    too_deep = {count} AND f.fate = 'outside scope' AND f.reason = 'deeper than maxDepth')
 WHERE dropped_at IS NULL
"""
COUNT_ONE = "(SELECT count(*) FROM {schema}frontier f WHERE f.job_id = jobs.id"

NUMBER = """
UPDATE {schema}frontier SET position = places.position, fate_position = places.fate_position,
       error_position = places.error_position
  FROM (SELECT id AS page_id,
               row_number() OVER (PARTITION BY job_id ORDER BY id) - 1 AS position,
               CASE WHEN fate IS NOT NULL THEN row_number() OVER (
                    PARTITION BY job_id, fate ORDER BY finished_at, id) - 1 END AS fate_position,
               CASE WHEN fate IN ('failed', 'disallowed by robots') THEN row_number() OVER (
                    PARTITION BY job_id, fate IN ('failed', 'disallowed by robots')
                    ORDER BY finished_at, id) - 1 END AS error_position
          FROM {schema}frontier) AS places
 WHERE frontier.id = places.page_id
"""

QUEUE_SUSPECTS = """
UPDATE {schema}job_hosts SET queued = queued + (
       SELECT count(*) FROM {schema}frontier f
        WHERE f.job_id = job_hosts.job_id AND f.host = job_hosts.host AND f.state = 'suspect')
"""


def upgrade() -> None:
    """Add the columns and fill them, then index them."""
    for name in NEW_COUNTS:
        op.add_column("jobs", _count(name), schema=_schema())
    op.add_column("frontier", _count("crashes"), schema=_schema())
    for name in ("position", "fate_position", "error_position"):
        op.add_column("frontier", sa.Column(name, sa.Integer()), schema=_schema())
    op.execute(COUNT.format(schema=_prefix(), count=COUNT_ONE.format(schema=_prefix())))
    op.drop_index("idx_frontier_fate", "frontier", schema=_schema())
    op.execute(NUMBER.format(schema=_prefix()))
    # SQLite makes the table anew, and ids are never to be given twice.
    as_before = {"sqlite_autoincrement": True}
    with op.batch_alter_table("frontier", schema=_schema(), table_kwargs=as_before) as table:
        table.alter_column("position", nullable=False)
    _index("position", ["job_id", "position"])
    _index("fate", ["job_id", "fate", "fate_position"], "fate_position IS NOT NULL")
    _index("errors", ["job_id", "error_position"], "error_position IS NOT NULL")
    _index("suspects", ["job_id", "crashes", "id"], "state = 'suspect'")


def downgrade() -> None:
    """Drop them; suspects are pages like any other again."""
    op.execute(QUEUE_SUSPECTS.format(schema=_prefix()))
    op.execute(f"UPDATE {_prefix()}frontier SET state = 'queued' WHERE state = 'suspect'")  # noqa: S608
    for name in ("position", "fate", "errors", "suspects"):
        op.drop_index(f"idx_frontier_{name}", "frontier", schema=_schema())
    for name in ("position", "fate_position", "error_position", "crashes"):
        op.drop_column("frontier", name, schema=_schema())
    for name in NEW_COUNTS:
        op.drop_column("jobs", name, schema=_schema())
    _index("fate", ["job_id", "fate", "finished_at", "id"])


def _index(name: str, columns: Sequence[str], condition: str | None = None) -> None:
    where = None if condition is None else sa.text(condition)
    op.create_index(
        f"idx_frontier_{name}",
        "frontier",
        list(columns),
        schema=_schema(),
        postgresql_where=where,
        sqlite_where=where,
    )


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None


def _prefix() -> str:
    return "webhook." if _schema() else ""
