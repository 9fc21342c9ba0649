"""${message}."""

from alembic import op
${"import sqlalchemy as sa" if upgrades else ""}
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Apply it."""
    ${upgrades if upgrades else "raise NotImplementedError"}


def downgrade() -> None:
    """Undo it."""
    ${downgrades if downgrades else "raise NotImplementedError"}
