"""What is owed is claimed by recipient, and in each incident in the order of its events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Index what is owed by recipient, and transitions by incident."""
    is_owed = sa.text("state = 'owed'")
    op.drop_index("ix_notices_owed", "notices")
    op.create_index(
        "ix_notices_owed",
        "notices",
        ["channel", "address", "attempts", "created_at"],
        sqlite_where=is_owed,
        postgresql_where=is_owed,
    )
    op.create_index("ix_transitions_incident_id", "transitions", ["incident_id"])
