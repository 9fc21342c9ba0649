"""Recipes: where the pages of a site hold the values of a schema."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BODY = sa.Text().with_variant(sa.LargeBinary(), "sqlite")


def upgrade() -> None:
    """Create the table."""
    schema = _schema()
    op.create_table(
        "recipes",
        sa.Column("id", ID, primary_key=True),
        sa.Column("place_hash", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("shape", sa.Text(), nullable=False),
        sa.Column("wish", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        _count("uses"),
        _count("successes"),
        _count("failures"),
        sa.Column("learned_from", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("rules", BODY, nullable=False),
        sa.UniqueConstraint("place_hash", name="recipes_place_hash_unique"),
        schema=schema,
        sqlite_autoincrement=True,
    )
    op.create_index("idx_recipes_wish_site", "recipes", ["wish", "site"], schema=schema)
    op.create_index("idx_recipes_used_at", "recipes", ["used_at"], schema=schema)


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("recipes", schema=_schema())


def _count(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))


def _schema() -> str | None:
    return "webhook" if op.get_context().dialect.name == "postgresql" else None
