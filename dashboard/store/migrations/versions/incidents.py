"""Incidents: which opening a condition and its changes belong to, and what they rest on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

big = sa.BigInteger()
uuid = sa.Uuid()


def upgrade() -> None:
    """Add what incidents need, and take every rejection so far for the opening of one."""
    for table in ("conditions", "transitions"):
        op.add_column(table, sa.Column("incident_id", uuid))
        op.add_column(table, sa.Column("opened_at", big))
    op.add_column("conditions", sa.Column("turning_since", big))
    op.add_column("transitions", sa.Column("grounds", sa.JSON(none_as_null=True)))
    # before the updates, or the second reads all transitions for each condition
    op.create_index(
        "ix_transitions_subject_rejection_id", "transitions", ["subject", "rejection_id"]
    )
    op.execute(
        "UPDATE transitions SET incident_id = transition_id, opened_at = at "
        "WHERE after = 'rejected'"
    )
    op.execute(
        "UPDATE conditions SET opened_at = since, incident_id = "
        "(SELECT transition_id FROM transitions WHERE transitions.subject = conditions.subject "
        "AND transitions.after = 'rejected' "
        "ORDER BY transitions.at, transitions.transition_id LIMIT 1) WHERE state = 'rejected'"
    )
