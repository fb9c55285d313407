"""Senders that are watched: what nodes report of them is tracked from then on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

big = sa.BigInteger()


def upgrade() -> None:
    """Create the table; nobody is watched yet."""
    op.create_table(
        "watched_senders",
        sa.Column("sender", sa.LargeBinary(20), nullable=False),
        sa.Column("network_id", big, nullable=False),
        sa.Column("watched_at", big, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sender", "network_id"),
        sqlite_with_rowid=False,
    )
