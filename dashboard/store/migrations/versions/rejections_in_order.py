"""Rejections of a module or sender as they arrived, and when each node told receipts last."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add indexes for lists of rejections, counts of notifications, and what spares a scan."""
    for name in ("module", "sender"):
        op.create_index(
            f"ix_rejections_{name}_first_seen_at", "rejections", [name, "first_seen_at"]
        )
    op.drop_index("ix_notifications_created_at", "notifications")
    op.create_index(
        "ix_notifications_created_at_state_sent_at",
        "notifications",
        ["created_at", "state", "sent_at"],
    )
    op.execute(
        "INSERT INTO last_answers (network_id, operation, answered_at) "
        "SELECT network_id, 'eth_getTransactionReceipt', max(answered_at) FROM follow_ups "
        "WHERE answered_at IS NOT NULL GROUP BY network_id"
    )
