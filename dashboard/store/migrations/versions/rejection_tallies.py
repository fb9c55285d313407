"""Tallies of rejections, so that they are counted without reading them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

big = sa.BigInteger()

_HOUR = 3_600_000
_MOST_MODULES = 1000


def upgrade() -> None:
    """Create the tables, and count what is stored."""
    create_tables()
    op.execute(
        "INSERT INTO rejection_modules (module) SELECT module FROM rejections "  # noqa: S608 - a number of ours
        "WHERE module IS NOT NULL GROUP BY module ORDER BY count(*) DESC "
        f"LIMIT {_MOST_MODULES}"
    )
    count_hours()
    for level, days in ((3, 1), (2, 7), (1, 28)):
        add_up(level, f"begins_at - begins_at % {days * 24 * _HOUR}")
    add_up(0, "0 * level")


def create_tables() -> None:
    op.create_table(
        "rejection_tallies",
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("begins_at", big, nullable=False),
        sa.Column("tx_rejection_stage", sa.String(10), nullable=False),
        sa.Column("reason_kind", sa.String(20), nullable=False),
        sa.Column("module", sa.String(64), nullable=False),
        sa.Column("network_id", big, nullable=False),
        sa.Column("many", big, nullable=False),
        sa.PrimaryKeyConstraint(
            "level", "begins_at", "tx_rejection_stage", "reason_kind", "module", "network_id"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rejection_modules",
        sa.Column("module", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("module"),
        sqlite_with_rowid=False,
    )


def count_hours() -> None:
    op.execute(
        "INSERT INTO rejection_tallies "  # noqa: S608 - a number of ours
        f"SELECT 4, first_seen_at - first_seen_at % {_HOUR}, tx_rejection_stage, "
        "reason_kind, CASE WHEN r.module IS NULL THEN '' ELSE coalesce(m.module, '*') END, "
        "network_id, count(*) FROM rejections r LEFT JOIN rejection_modules m "
        "ON m.module = r.module GROUP BY 2, 3, 4, 5, 6"
    )


def add_up(level: int, step: str) -> None:
    op.execute(
        f"INSERT INTO rejection_tallies SELECT {level}, {step}, tx_rejection_stage, "  # noqa: S608 - texts of ours
        "reason_kind, module, network_id, sum(many) FROM rejection_tallies "
        f"WHERE level = {level + 1} GROUP BY 2, 3, 4, 5, 6"
    )
