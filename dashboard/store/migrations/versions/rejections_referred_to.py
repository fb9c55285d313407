"""Find what refers to a rejection, so that one is forgotten without reading all that does not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the indexes; they hold only rows that refer to a rejection."""
    for table in ("conditions", "transitions"):
        op.create_index(
            f"ix_{table}_rejection_id",
            table,
            ["rejection_id"],
            sqlite_where=sa.text("rejection_id IS NOT NULL"),
            postgresql_where=sa.text("rejection_id IS NOT NULL"),
        )
