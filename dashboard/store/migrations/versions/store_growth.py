"""How large each kind of data was, day by day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

big = sa.BigInteger()


def upgrade() -> None:
    """Create the table; the worker measures once a day."""
    op.create_table(
        "store_growth",
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("day", big, nullable=False),
        sa.Column("measured_at", big, nullable=False),
        sa.Column("rows", big, nullable=False),
        sa.Column("bytes", big, nullable=False),
        sa.Column("is_estimated", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "day"),
        sqlite_with_rowid=False,
    )
