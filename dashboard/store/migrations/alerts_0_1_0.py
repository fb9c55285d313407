"""The tables of alerts as release 0.1.0 makes them: what changed, who is notified, and how."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dashboard.store.migrations.revision_columns import (
    add_index,
    big,
    hash_32,
    integer,
    json,
    key,
    needed,
    optional,
    preset,
    row_id,
    text,
    uuid,
    word_10,
    word_20,
    word_40,
    word_64,
    word_200,
)


def create_alerts() -> None:
    op.create_table(
        "conditions",
        *key(subject=word_200),
        *needed(kind=word_20, network_id=big, state=word_20, since=big),
        preset("rule", word_64, ""),
        preset("dimension", text, ""),
        *optional(tx_hash=hash_32, turning_since=big, incident_id=uuid, opened_at=big),
        *optional(rejection_id=row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
    )
    add_index("conditions", "rejection_id", where="rejection_id IS NOT NULL")
    add_index("conditions", "tx_hash", "network_id")
    op.create_table(
        "transitions",
        *key(transition_id=uuid),
        *needed(subject=word_200, kind=word_20, network_id=big, after=word_20, at=big),
        preset("rule", word_64, ""),
        preset("dimension", text, ""),
        *optional(tx_hash=hash_32, before=word_20, grounds=json, incident_id=uuid, opened_at=big),
        *optional(rejection_id=row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
    )
    add_index("transitions", "incident_id")
    add_index("transitions", "rejection_id", where="rejection_id IS NOT NULL")
    add_index("transitions", "subject", "rejection_id")


def create_outbox() -> None:
    op.create_table(
        "outbox",
        *key(outbox_id=row_id),
        *needed(transition_id=uuid),
        *optional(expanded_at=big),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.UniqueConstraint("transition_id"),
        sqlite_autoincrement=True,
    )
    add_index("outbox", "outbox_id", name="ix_outbox_unexpanded", where="expanded_at IS NULL")
    op.create_table(
        "notifications",
        *key(notification_id=uuid),
        *needed(transition_id=uuid, channel=word_40, address=text, message_id=word_200),
        *needed(created_at=big, state=word_10, attempts=integer, outcome=text),
        *optional(next_attempt_at=big, claimed_by=big, claimed_at=big, sent_at=big),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.UniqueConstraint("message_id"),
        sa.UniqueConstraint("transition_id", "channel", "address"),
    )
    add_index("notifications", "created_at", "state", "sent_at")
    add_index("notifications", "created_at", name="ix_notifications_held", where="state = 'held'")
    add_index(
        "notifications",
        "channel",
        "address",
        "attempts",
        "created_at",
        name="ix_notifications_pending",
        where="state = 'pending'",
    )
    op.create_table(
        "deliveries",
        *key(delivery_id=row_id),
        *needed(notification_id=uuid, attempted_at=big, result=word_10, outcome=text),
        sa.ForeignKeyConstraint(["notification_id"], ["notifications.notification_id"]),
        sqlite_autoincrement=True,
    )
    add_index("deliveries", "notification_id")


def create_rules() -> None:
    op.create_table(
        "rules",
        *key(name=word_64),
        *needed(position=integer, body=sa.JSON(), changed_at=big, changed_by=text),
    )


def create_silences() -> None:
    """Create what people silence and plan."""
    op.create_table(
        "silences",
        *key(silence_id=row_id),
        *needed(request_id=uuid, kind=word_20, matchers=sa.JSON(), starts_at=big, ends_at=big),
        *needed(author=text, reason=text, created_at=big),
        *optional(ended_at=big, ended_by=text),
        sa.UniqueConstraint("request_id"),
        sqlite_autoincrement=True,
    )
    add_index("silences", "ends_at")
