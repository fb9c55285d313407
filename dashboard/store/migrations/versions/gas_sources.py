"""Who told each fee: the gas API, or the network's node."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Every fee from before was told by a gas API."""
    for table in ("suggested_gas_fees", "fee_marks"):
        column = sa.Column("source", sa.String(20), nullable=False, server_default="gas API")
        op.add_column(table, column)
