"""When each version of a rejection was seen last, and how it came here first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the columns; null is what earlier versions of Linewatch did not write down.

    Nothing is filled in: a store may hold years of rejections, and what is missing follows from
    the other columns.
    """
    op.add_column("rejections", sa.Column("seen_again_at", sa.BigInteger()))
    op.add_column("rejections", sa.Column("source", sa.String(20)))
