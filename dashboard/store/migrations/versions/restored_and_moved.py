"""A store knows when a backup was restored into it, and where it was moved."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns; nothing was restored or moved yet."""
    op.add_column("installation", sa.Column("restored_at", sa.BigInteger()))
    op.add_column("installation", sa.Column("moved_to", sa.Text()))
