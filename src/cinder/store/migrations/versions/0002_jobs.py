"""Jobs, the ledger of their URLs, how hosts want to be treated, webhooks and schedules."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BODY = sa.Text().with_variant(sa.LargeBinary(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    schema = _schema()
    _create_jobs(schema)
    _create_frontier(schema)
    _create_hosts(schema)
    _create_outbox(schema)
    _create_schedules(schema)


def downgrade() -> None:
    """Drop the tables."""
    names = ("schedules", "outbox", "hosts", "job_hosts", "frontier_keys", "frontier", "jobs")
    for table in names:
        op.drop_table(table, schema=_schema())


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None


def _column(table: str, column: str, schema: str | None) -> str:
    return f"{schema}.{table}.{column}" if schema else f"{table}.{column}"


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))


def _create_jobs(schema: str | None) -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("idempotency_key", sa.Text()),
        sa.Column("max_pages", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seeded_at", sa.BigInteger()),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("dropped_at", sa.BigInteger()),
        sa.Column("next_at", sa.BigInteger()),
        _count("attempts"),
        _count("found"),
        _count("fetched"),
        _count("failed"),
        sa.Column("error", sa.Text()),
        sa.Column("spec", BODY, nullable=False),
        sa.UniqueConstraint("owner", "kind", "idempotency_key", name="jobs_idempotency_key_unique"),
        schema=schema,
    )
    for column in ("next_at", "expires_at"):
        op.create_index(f"idx_jobs_{column}", "jobs", [column], schema=schema)


def _create_frontier(schema: str | None) -> None:
    job = sa.ForeignKey(_column("jobs", "id", schema), ondelete="CASCADE")
    op.create_table(
        "frontier",
        sa.Column("id", ID, primary_key=True),
        sa.Column("job_id", sa.Text(), job, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        _count("fence"),
        _count("tries"),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("fate", sa.String(30)),
        sa.Column("status_code", sa.Integer()),
        sa.Column("content_length", sa.BigInteger()),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("template", sa.Text()),
        sa.Column("verdict", sa.Text()),
        sa.Column("content_exact", sa.LargeBinary()),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("title", sa.Text()),
        sa.Column("uris", sa.Text()),
        sa.Column("content_sketch", sa.LargeBinary()),
        sa.UniqueConstraint("job_id", "fingerprint", name="frontier_job_fingerprint_unique"),
        schema=schema,
        sqlite_autoincrement=True,
    )
    _create_frontier_indexes(schema)
    op.create_table(
        "frontier_keys",
        sa.Column(
            "page_id",
            ID,
            sa.ForeignKey(_column("frontier", "id", schema), ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("key", sa.BigInteger(), primary_key=True),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Index("idx_frontier_keys_job_key", "job_id", "key"),
        schema=schema,
    )


def _create_frontier_indexes(schema: str | None) -> None:
    partial = (
        ("queued", ["job_id", "host", "id"], "state = 'queued'"),
        ("leased", ["host", "lease_until"], "state = 'leased'"),
        ("job_leased", ["job_id", "lease_until"], "state = 'leased'"),
        ("exact", ["job_id", "content_exact"], "content_exact IS NOT NULL"),
    )
    for name, columns, condition in partial:
        op.create_index(
            f"idx_frontier_{name}",
            "frontier",
            columns,
            schema=schema,
            postgresql_where=sa.text(condition),
            sqlite_where=sa.text(condition),
        )
    columns = ["job_id", "fate", "finished_at", "id"]
    op.create_index("idx_frontier_fate", "frontier", columns, schema=schema)


def _create_hosts(schema: str | None) -> None:
    op.create_table(
        "job_hosts",
        sa.Column(
            "job_id",
            sa.Text(),
            sa.ForeignKey(_column("jobs", "id", schema), ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("host", sa.Text(), primary_key=True),
        _count("queued"),
        schema=schema,
    )
    op.create_table(
        "hosts",
        sa.Column("host", sa.Text(), primary_key=True),
        sa.Column("next_at", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        _count("delay_ms"),
        sa.Column("robots_status", sa.Integer()),
        sa.Column("robots_at", sa.BigInteger()),
        _count("robots_failures"),
        sa.Column("robots", sa.LargeBinary()),
        schema=schema,
    )


def _create_outbox(schema: str | None) -> None:
    op.create_table(
        "outbox",
        sa.Column("id", ID, primary_key=True),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("event", sa.String(30), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        _count("tries"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("payload", BODY, nullable=False),
        schema=schema,
        sqlite_autoincrement=True,
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index(
        "idx_outbox_next_at",
        "outbox",
        ["next_at"],
        schema=schema,
        postgresql_where=waiting,
        sqlite_where=waiting,
    )
    op.create_index("idx_outbox_job_id", "outbox", ["job_id", "id"], schema=schema)


def _create_schedules(schema: str | None) -> None:
    op.create_table(
        "schedules",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("spec", BODY, nullable=False),
        sa.Index("idx_schedules_next_at", "next_at"),
        schema=schema,
    )
