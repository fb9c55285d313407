"""The tables of alerts as release 0.1.0 makes them: what changed, who is notified, and how."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dashboard.store.migrations.revision_columns import (
    add_index,
    big,
    flag,
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
    word_30,
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
        *optional(tx_hash=hash_32, turning_since=big, opening_id=uuid, opened_at=big),
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
        *optional(tx_hash=hash_32, before=word_20, grounds=json, opening_id=uuid, opened_at=big),
        *optional(rejection_id=row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
    )
    add_index("transitions", "opening_id")
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
    add_index("outbox", "outbox_id", name="ix_outbox_pending", where="expanded_at IS NULL")


def create_notifications() -> None:
    op.create_table(
        "notifications",
        *key(notification_id=uuid),
        *needed(transition_id=uuid, position=big, channel=word_40, address=text),
        *needed(message_id=word_200, created_at=big, release_at=big, state=word_10),
        *needed(attempts=integer, outcome=text),
        preset("in_reply_to", word_200, ""),
        preset("thread", sa.String(1000), ""),
        preset("members", integer, "1"),
        preset("is_urgent", flag, sa.false()),
        preset("kind", word_20, "change"),
        preset("held_for", text, ""),
        *optional(closed_at=big, closed_by=big, next_attempt_at=big, claimed_by=big),
        *optional(claimed_at=big, sent_at=big),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.UniqueConstraint("message_id"),
    )
    add_index("notifications", "transition_id")
    add_index("notifications", "created_at", "state", "sent_at")
    add_index("notifications", "channel", "address", "closed_at")
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


def create_incidents() -> None:
    op.create_table(
        "incidents",
        *key(incident_id=uuid),
        *needed(rule=text, kind=word_20, severity=word_20, grouped_by=json, state=word_20),
        *needed(opened_at=big, changed_at=big, transitions=integer, troubled=integer),
        *needed(version=integer),
        preset("owner", text, ""),
        preset("reminders", integer, "0"),
        *optional(open_key=word_64, network_id=big, next_at=big, resolved_at=big),
        *optional(reminded_at=big, escalated_at=big),
        sa.UniqueConstraint("open_key"),
    )
    add_index("incidents", "next_at")
    add_index("incidents", "opened_at")
    add_index("incidents", "resolved_at")
    op.create_table(
        "incident_transitions",
        *key(incident_id=uuid, transition_id=uuid),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.incident_id"]),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sqlite_with_rowid=False,
    )
    add_index("incident_transitions", "transition_id")
    op.create_table(
        "incident_events",
        *key(event_id=row_id),
        *needed(incident_id=uuid, at=big, kind=word_30, transitions=integer),
        *needed(actor=text, note=text, owner=text),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.incident_id"]),
        sqlite_autoincrement=True,
    )
    add_index("incident_events", "incident_id")


def create_members() -> None:
    op.create_table(
        "notification_members",
        *key(transition_id=uuid, channel=word_40, address=text),
        *needed(position=big, incident_id=uuid, reason=text),
        *optional(notification_id=uuid),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.incident_id"]),
        sa.ForeignKeyConstraint(["notification_id"], ["notifications.notification_id"]),
        sqlite_with_rowid=False,
    )
    add_index("notification_members", "notification_id", "position")
    add_index("notification_members", "incident_id")
    op.create_table(
        "notification_incidents",
        *key(notification_id=uuid, incident_id=uuid),
        sa.ForeignKeyConstraint(["notification_id"], ["notifications.notification_id"]),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.incident_id"]),
        sqlite_with_rowid=False,
    )
    add_index("notification_incidents", "incident_id")


def create_rules() -> None:
    op.create_table(
        "rules",
        *key(name=word_64),
        *needed(position=integer, body=sa.JSON(), changed_at=big, changed_by=text),
    )


def create_mail_outages() -> None:
    """Create the times in which no mail was taken."""
    op.create_table(
        "mail_outages",
        *key(after_delivery=row_id),
        *needed(since=big),
        *optional(reported_at=big, ended_at=big, end_reported_at=big),
    )


def create_silences() -> None:
    """Create what people silence, plan, turn off and verify."""
    op.create_table(
        "silences",
        *key(silence_id=row_id),
        *needed(request_id=uuid, kind=word_20, matchers=sa.JSON(), starts_at=big, ends_at=big),
        *needed(weekly=sa.JSON(), zone=word_64),
        *needed(author=text, reason=text, created_at=big),
        *optional(ended_at=big, ended_by=text),
        sa.UniqueConstraint("request_id"),
        sqlite_autoincrement=True,
    )
    add_index("silences", "ends_at")
    op.create_table(
        "addresses_off",
        *key(channel=word_40, address=text),
        *needed(cause=word_20, since=big, by=text, note=text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "recipients",
        *key(channel=word_40, address=text),
        *optional(requested_at=big, counted_from=big),
        *needed(requests=integer, wrong_codes=integer, attempts=integer),
        *optional(next_attempt_at=big, message_id=word_200, sent_at=big),
        *needed(outcome=text, deliveries=sa.JSON()),
        *optional(verified_at=big),
        *needed(verified_by=text),
        *optional(caught_up_at=big),
        *needed(zone=word_64, active=sa.JSON()),
        sqlite_with_rowid=False,
    )
    add_index("recipients", "message_id")
