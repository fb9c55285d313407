"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    create_installation()
    create_fees()
    create_tracking()
    create_rejections()
    create_alerts()


def create_installation() -> None:
    op.create_table(
        "installation",
        sa.Column("installation_id", sa.Uuid(), nullable=False),
        sa.Column("last_token", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("installation_id"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("holder", sa.String(200)),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("boot_id", sa.String(64), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def create_fees() -> None:
    op.create_table(
        "base_fee_histories",
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("base_fees", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("network_id"),
    )
    op.create_table(
        "estimated_base_fees",
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("base_fee", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "fee_marks",
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("operation", sa.String(40), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "operation", "asked_at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "standing_failures",
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("operation", sa.String(40), nullable=False),
        sa.Column("failing_since", sa.BigInteger(), nullable=False),
        sa.Column("last_failed_at", sa.BigInteger(), nullable=False),
        sa.Column("failure_kind", sa.String(20), nullable=False),
        sa.Column("failure_message", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("network_id", "operation"),
    )
    op.create_table(
        "suggested_gas_fees",
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("low_max_priority_fee", sa.BigInteger(), nullable=False),
        sa.Column("low_max_fee", sa.BigInteger(), nullable=False),
        sa.Column("low_min_wait", sa.BigInteger(), nullable=False),
        sa.Column("low_max_wait", sa.BigInteger(), nullable=False),
        sa.Column("medium_max_priority_fee", sa.BigInteger(), nullable=False),
        sa.Column("medium_max_fee", sa.BigInteger(), nullable=False),
        sa.Column("medium_min_wait", sa.BigInteger(), nullable=False),
        sa.Column("medium_max_wait", sa.BigInteger(), nullable=False),
        sa.Column("high_max_priority_fee", sa.BigInteger(), nullable=False),
        sa.Column("high_max_fee", sa.BigInteger(), nullable=False),
        sa.Column("high_min_wait", sa.BigInteger(), nullable=False),
        sa.Column("high_max_wait", sa.BigInteger(), nullable=False),
        sa.Column("estimated_base_fee", sa.BigInteger(), nullable=False),
        sa.Column("network_congestion", sa.Float(53), nullable=False),
        sa.Column("latest_priority_fee_from", sa.BigInteger(), nullable=False),
        sa.Column("latest_priority_fee_to", sa.BigInteger(), nullable=False),
        sa.Column("historical_priority_fee_from", sa.BigInteger(), nullable=False),
        sa.Column("historical_priority_fee_to", sa.BigInteger(), nullable=False),
        sa.Column("historical_base_fee_from", sa.BigInteger(), nullable=False),
        sa.Column("historical_base_fee_to", sa.BigInteger(), nullable=False),
        sa.Column("priority_fee_trend", sa.Text(), nullable=False),
        sa.Column("base_fee_trend", sa.Text(), nullable=False),
        sa.Column("version", sa.Text()),
        sa.PrimaryKeyConstraint("network_id", "asked_at"),
        sqlite_with_rowid=False,
    )


def create_tracking() -> None:
    op.create_table(
        "checks",
        sa.Column("tx_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("last_asked_at", sa.BigInteger(), nullable=False),
        sa.Column("first_answered_at", sa.BigInteger()),
        sa.Column("last_answered_at", sa.BigInteger()),
        sa.Column("failing_since", sa.BigInteger()),
        sa.Column("failure_kind", sa.String(20)),
        sa.Column("failure_message", sa.Text()),
        sa.PrimaryKeyConstraint("tx_hash", "network_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_checks_last_asked_at", "checks", ["last_asked_at"])
    op.create_table(
        "tracked_transactions",
        sa.Column("tx_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("tracked_at", sa.BigInteger(), nullable=False),
        sa.Column("attempted_at", sa.BigInteger()),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tx_hash"),
    )
    op.create_index("ix_tracked_transactions_tracked_at", "tracked_transactions", ["tracked_at"])
    op.create_table(
        "watches",
        sa.Column("watch_id", row_id, nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("tracked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tx_hash"], ["tracked_transactions.tx_hash"]),
        sa.PrimaryKeyConstraint("watch_id"),
        sa.UniqueConstraint("tx_hash", "network_id"),
        sqlite_autoincrement=True,
    )


def create_rejections() -> None:
    op.create_table(
        "rejections",
        sa.Column("rejection_id", row_id, nullable=False),
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("sender", sa.LargeBinary(20), nullable=False),
        sa.Column("nonce", sa.LargeBinary(8), nullable=False),
        sa.Column("tx_rejection_stage", sa.String(10), nullable=False),
        sa.Column("reason_message", sa.Text(), nullable=False),
        sa.Column("timestamp", sa.BigInteger(), nullable=False),
        sa.Column("block_number", sa.BigInteger()),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("version_digest", sa.LargeBinary(32), nullable=False),
        sa.Column("reported_at", sa.BigInteger()),
        sa.Column("reported_reason_digest", sa.LargeBinary(32)),
        sa.Column("overflows", sa.JSON(none_as_null=True)),
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
    op.create_table(
        "signed_transactions",
        sa.Column("tx_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("recipient", sa.LargeBinary(20)),
        sa.Column("chain_id", sa.BigInteger()),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tx_hash"),
    )


def create_alerts() -> None:
    op.create_table(
        "conditions",
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(32)),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("rejection_id", row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
        sa.PrimaryKeyConstraint("subject"),
    )
    op.create_index("ix_conditions_tx_hash_network_id", "conditions", ["tx_hash", "network_id"])
    op.create_table(
        "transitions",
        sa.Column("transition_id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("network_id", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(32)),
        sa.Column("before", sa.String(20)),
        sa.Column("after", sa.String(20), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("rejection_id", row_id),
        sa.ForeignKeyConstraint(["rejection_id"], ["rejections.rejection_id"]),
        sa.PrimaryKeyConstraint("transition_id"),
    )
    op.create_index("ix_transitions_at", "transitions", ["at"])
    op.create_index("ix_transitions_subject_at", "transitions", ["subject", "at"])
    op.create_table(
        "notices",
        sa.Column("notice_id", sa.Uuid(), nullable=False),
        sa.Column("transition_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.String(40), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("message_id", sa.String(200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger()),
        sa.Column("claimed_by", sa.BigInteger()),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.Column("sent_at", sa.BigInteger()),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["transition_id"], ["transitions.transition_id"]),
        sa.PrimaryKeyConstraint("notice_id"),
        sa.UniqueConstraint("message_id"),
        sa.UniqueConstraint("transition_id", "channel", "address"),
    )
    op.create_index("ix_notices_created_at", "notices", ["created_at"])
    op.create_index(
        "ix_notices_owed",
        "notices",
        ["next_attempt_at"],
        sqlite_where=sa.text("state = 'owed'"),
        postgresql_where=sa.text("state = 'owed'"),
    )
    op.create_table(
        "outbox",
        sa.Column("outbox_id", row_id, nullable=False),
        sa.Column("transition_id", sa.Uuid(), nullable=False),
        sa.Column("expanded_at", sa.BigInteger()),
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
    op.create_table(
        "deliveries",
        sa.Column("delivery_id", row_id, nullable=False),
        sa.Column("notice_id", sa.Uuid(), nullable=False),
        sa.Column("attempted_at", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.String(10), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["notice_id"], ["notices.notice_id"]),
        sa.PrimaryKeyConstraint("delivery_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deliveries_notice_id", "deliveries", ["notice_id"])
