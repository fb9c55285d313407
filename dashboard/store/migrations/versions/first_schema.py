"""The first schema."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

big = sa.BigInteger()
word = sa.LargeBinary(32)
text = sa.Text()
uuid = sa.Uuid()
row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    create_installation()
    create_fees()
    create_suggested_gas_fees()
    create_tracking()
    create_rejections()
    create_signed_transactions()
    create_conditions()
    create_outbox()
    create_notifications()
    create_deliveries()


def needed(**kinds: sa.types.TypeEngine[Any]) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name, kind in kinds.items()]


def optional(**kinds: sa.types.TypeEngine[Any]) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name, kind in kinds.items()]


def create_installation() -> None:
    op.create_table(
        "installation",
        *needed(installation_id=uuid, last_token=big),
        sa.PrimaryKeyConstraint("installation_id"),
    )
    op.create_table(
        "leases",
        *needed(
            name=sa.String(64), token=big, boot_id=sa.String(64), granted_at=big, expires_at=big
        ),
        *optional(holder=sa.String(200)),
        sa.PrimaryKeyConstraint("name"),
    )


def create_fees() -> None:
    op.create_table(
        "base_fee_histories",
        *needed(network_id=big, asked_at=big, base_fees=sa.JSON()),
        sa.PrimaryKeyConstraint("network_id"),
    )
    op.create_table(
        "estimated_base_fees",
        *needed(network_id=big, at=big, base_fee=big),
        sa.PrimaryKeyConstraint("network_id", "at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "fee_marks",
        *needed(network_id=big, operation=sa.String(40), asked_at=big, fee=big),
        sa.PrimaryKeyConstraint("network_id", "operation", "asked_at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "standing_failures",
        *needed(
            network_id=big,
            operation=sa.String(40),
            failing_since=big,
            last_failed_at=big,
            failure_kind=sa.String(20),
            failure_message=text,
        ),
        sa.PrimaryKeyConstraint("network_id", "operation"),
    )


def create_suggested_gas_fees() -> None:
    levels = {
        f"{level}_{name}": big
        for level in ("low", "medium", "high")
        for name in ("max_priority_fee", "max_fee", "min_wait", "max_wait")
    }
    op.create_table(
        "suggested_gas_fees",
        *needed(network_id=big, asked_at=big, **levels),
        *needed(
            estimated_base_fee=big,
            network_congestion=sa.Float(53),
            latest_priority_fee_from=big,
            latest_priority_fee_to=big,
            historical_priority_fee_from=big,
            historical_priority_fee_to=big,
            historical_base_fee_from=big,
            historical_base_fee_to=big,
            priority_fee_trend=text,
            base_fee_trend=text,
        ),
        *optional(version=text),
        sa.PrimaryKeyConstraint("network_id", "asked_at"),
        sqlite_with_rowid=False,
    )


def create_tracking() -> None:
    op.create_table(
        "checks",
        *needed(tx_hash=word, network_id=big, last_asked_at=big),
        *optional(
            first_answered_at=big,
            last_answered_at=big,
            failing_since=big,
            failure_kind=sa.String(20),
            failure_message=text,
        ),
        sa.PrimaryKeyConstraint("tx_hash", "network_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tracked_transactions",
        *needed(tx_hash=word, tracked_at=big, label=text, note=text),
        *optional(attempted_at=big),
        sa.PrimaryKeyConstraint("tx_hash"),
    )
    op.create_index("ix_tracked_transactions_tracked_at", "tracked_transactions", ["tracked_at"])
    op.create_table(
        "watches",
        *needed(watch_id=row_id, tx_hash=word, network_id=big, tracked_at=big),
        sa.ForeignKeyConstraint(["tx_hash"], ["tracked_transactions.tx_hash"]),
        sa.PrimaryKeyConstraint("watch_id"),
        sa.UniqueConstraint("tx_hash", "network_id"),
        sqlite_autoincrement=True,
    )


def create_rejections() -> None:
    op.create_table(
        "rejections",
        *needed(
            rejection_id=row_id,
            network_id=big,
            tx_hash=word,
            sender=sa.LargeBinary(20),
            nonce=sa.LargeBinary(8),
            tx_rejection_stage=sa.String(10),
            reason_message=text,
            timestamp=big,
            first_seen_at=big,
            version_digest=word,
        ),
        *optional(
            block_number=big,
            reported_at=big,
            reported_reason_digest=word,
            overflows=sa.JSON(none_as_null=True),
        ),
        sa.PrimaryKeyConstraint("rejection_id"),
        sa.UniqueConstraint("tx_hash", "network_id", "reported_reason_digest"),
        sa.UniqueConstraint("tx_hash", "network_id", "version_digest"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_rejections_first_seen_at", "rejections", ["first_seen_at"])
    op.create_index(
        "ix_rejections_network_id_first_seen_at", "rejections", ["network_id", "first_seen_at"]
    )
    op.create_index(
        "ix_rejections_tx_hash_network_id_timestamp",
        "rejections",
        ["tx_hash", "network_id", "timestamp"],
    )


def create_signed_transactions() -> None:
    op.create_table(
        "signed_transactions",
        *needed(tx_hash=word, raw=sa.LargeBinary()),
        *optional(recipient=sa.LargeBinary(20), chain_id=big),
        sa.PrimaryKeyConstraint("tx_hash"),
    )


def create_conditions() -> None:
    op.create_table(
        "conditions",
        *needed(
            subject=sa.String(200),
            kind=sa.String(20),
            network_id=big,
            state=sa.String(20),
            since=big,
        ),
        *optional(tx_hash=word, rejection_id=row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
        sa.PrimaryKeyConstraint("subject"),
    )
    op.create_index("ix_conditions_tx_hash_network_id", "conditions", ["tx_hash", "network_id"])
    op.create_table(
        "transitions",
        *needed(
            transition_id=uuid,
            subject=sa.String(200),
            kind=sa.String(20),
            network_id=big,
            after=sa.String(20),
            at=big,
        ),
        *optional(tx_hash=word, before=sa.String(20), rejection_id=row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
        sa.PrimaryKeyConstraint("transition_id"),
    )


def create_outbox() -> None:
    op.create_table(
        "outbox",
        *needed(outbox_id=row_id, transition_id=uuid),
        *optional(expanded_at=big),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.PrimaryKeyConstraint("outbox_id"),
        sa.UniqueConstraint("transition_id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_outbox_unexpanded",
        "outbox",
        ["outbox_id"],
        sqlite_where=sa.text("expanded_at IS NULL"),
        postgresql_where=sa.text("expanded_at IS NULL"),
    )


def create_notifications() -> None:
    op.create_table(
        "notifications",
        *needed(
            notification_id=uuid,
            transition_id=uuid,
            channel=sa.String(40),
            address=text,
            message_id=sa.String(200),
            created_at=big,
            state=sa.String(10),
            attempts=sa.Integer(),
            outcome=text,
        ),
        *optional(next_attempt_at=big, claimed_by=big, claimed_at=big, sent_at=big),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.PrimaryKeyConstraint("notification_id"),
        sa.UniqueConstraint("message_id"),
        sa.UniqueConstraint("transition_id", "channel", "address"),
    )
    op.create_index("ix_notifications_created_at", "notifications", ["created_at"])
    op.create_index(
        "ix_notifications_pending",
        "notifications",
        ["next_attempt_at"],
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )


def create_deliveries() -> None:
    op.create_table(
        "deliveries",
        *needed(
            delivery_id=row_id,
            notification_id=uuid,
            attempted_at=big,
            result=sa.String(10),
            outcome=text,
        ),
        sa.ForeignKeyConstraint(["notification_id"], ["notifications.notification_id"]),
        sa.PrimaryKeyConstraint("delivery_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_notification_id", "deliveries", ["notification_id"])
