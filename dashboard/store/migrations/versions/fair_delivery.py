"""What is pending is claimed by recipient, and in each incident in the order of its events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Index what is pending by recipient, and transitions by incident."""
    is_pending = sa.text("state = 'pending'")
    op.drop_index("ix_notifications_pending", "notifications")
    op.create_index(
        "ix_notifications_pending",
        "notifications",
        ["channel", "address", "attempts", "created_at"],
        sqlite_where=is_pending,
        postgresql_where=is_pending,
    )
    op.create_index("ix_transitions_incident_id", "transitions", ["incident_id"])
