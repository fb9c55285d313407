"""When networks were not watched, and what watching cost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

big = sa.BigInteger()


def upgrade() -> None:
    """Create the tables; coverage begins with the next look of a worker."""
    create_coverage()
    create_gaps()
    op.create_table(
        "credit_ledger",
        sa.Column("hour", big, nullable=False),
        sa.Column("network_id", big, nullable=False),
        sa.Column("operation", sa.String(64), nullable=False),
        sa.Column("calls", big, nullable=False),
        sa.Column("credits", big, nullable=False),
        sa.PrimaryKeyConstraint("hour", "network_id", "operation"),
        sqlite_with_rowid=False,
    )


def create_coverage() -> None:
    op.create_table(
        "coverage",
        sa.Column("network_id", big, nullable=False),
        sa.Column("watched", sa.String(20), nullable=False),
        sa.Column("since", big, nullable=False),
        sa.Column("until", big, nullable=False),
        sa.PrimaryKeyConstraint("network_id", "watched"),
        sqlite_with_rowid=False,
    )


def create_gaps() -> None:
    op.create_table(
        "coverage_gaps",
        sa.Column("network_id", big, nullable=False),
        sa.Column("watched", sa.String(20), nullable=False),
        sa.Column("begins_at", big, nullable=False),
        sa.Column("ends_at", big),
        sa.Column("cause", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "watched", "begins_at"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_coverage_gaps_begins_at", "coverage_gaps", ["begins_at"])
    op.create_index(
        "ix_coverage_gaps_open",
        "coverage_gaps",
        ["network_id", "watched"],
        sqlite_where=sa.text("ends_at IS NULL"),
        postgresql_where=sa.text("ends_at IS NULL"),
    )
