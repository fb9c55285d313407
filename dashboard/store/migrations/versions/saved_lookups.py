"""Look-ups of many transactions, each under an id that a link names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the table; nothing was looked up under an id yet."""
    op.create_table(
        "saved_lookups",
        sa.Column("lookup_id", sa.String(32), nullable=False),
        sa.Column("hashes", sa.LargeBinary(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lookup_id", name=op.f("pk_saved_lookups")),
    )
    op.create_index("ix_saved_lookups_asked_at", "saved_lookups", ["asked_at"])
