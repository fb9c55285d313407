"""Notifications may be held after a restore; they are counted without reading all others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Index what is held."""
    is_held = sa.text("state = 'held'")
    op.create_index(
        "ix_notifications_held",
        "notifications",
        ["created_at"],
        sqlite_where=is_held,
        postgresql_where=is_held,
    )
