"""The tables: every column with its type, every read of a page with its index."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    Uuid,
)

from dashboard.store.columns import (
    Account,
    Digest,
    Duration,
    ForeignText,
    Hash,
    Moment,
    Network,
    RowId,
    Unsigned,
    WeiAmount,
)

REVISION: Final = "0001"
"""The schema that this code reads and writes; revisions count up."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def _needed(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:  # noqa: ANN401 - as SQLAlchemy's Column takes them
    return Column(name, kind, *more, nullable=False, **options)


def _key(name: str, kind: Any, *more: Any) -> Column[Any]:  # noqa: ANN401 - as SQLAlchemy's Column takes them
    return Column(name, kind, *more, primary_key=True)


# One row: whose store this is, and the last fencing token that any lease was given.
installation = Table(
    "installation",
    metadata,
    _key("installation_id", Uuid),
    _needed("last_token", BigInteger),
)

leases = Table(
    "leases",
    metadata,
    _key("name", String(64)),
    Column("holder", String(200)),
    _needed("token", BigInteger),
    _needed("boot_id", String(64)),
    _needed("granted_at", BigInteger),  # nanoseconds since that boot
    _needed("expires_at", BigInteger),
)

_LEVELS: Final = tuple(
    column
    for level in ("low", "medium", "high")
    for column in (
        _needed(f"{level}_max_priority_fee", WeiAmount),
        _needed(f"{level}_max_fee", WeiAmount),
        _needed(f"{level}_min_wait", Duration),
        _needed(f"{level}_max_wait", Duration),
    )
)

suggested_gas_fees = Table(
    "suggested_gas_fees",
    metadata,
    _key("network_id", Network),
    _key("asked_at", Moment),
    *_LEVELS,
    _needed("estimated_base_fee", WeiAmount),
    _needed("network_congestion", Float(53)),
    _needed("latest_priority_fee_from", WeiAmount),
    _needed("latest_priority_fee_to", WeiAmount),
    _needed("historical_priority_fee_from", WeiAmount),
    _needed("historical_priority_fee_to", WeiAmount),
    _needed("historical_base_fee_from", WeiAmount),
    _needed("historical_base_fee_to", WeiAmount),
    _needed("priority_fee_trend", ForeignText),
    _needed("base_fee_trend", ForeignText),
    Column("version", ForeignText),
    sqlite_with_rowid=False,
)

# Base fees from before we watched, or from a gap, with the time they probably had.
estimated_base_fees = Table(
    "estimated_base_fees",
    metadata,
    _key("network_id", Network),
    _key("at", Moment),
    _needed("base_fee", WeiAmount),
    sqlite_with_rowid=False,
)

base_fee_histories = Table(
    "base_fee_histories",
    metadata,
    _key("network_id", Network),
    _needed("asked_at", Moment),
    _needed("base_fees", JSON),
)

# baseFeePercentile and busyThreshold.
fee_marks = Table(
    "fee_marks",
    metadata,
    _key("network_id", Network),
    _key("operation", String(40)),
    _key("asked_at", Moment),
    _needed("fee", WeiAmount),
    sqlite_with_rowid=False,
)

standing_failures = Table(
    "standing_failures",
    metadata,
    _key("network_id", Network),
    _key("operation", String(40)),
    _needed("failing_since", Moment),
    _needed("last_failed_at", Moment),
    _needed("failure_kind", String(20)),
    _needed("failure_message", ForeignText),
)

tracked_transactions = Table(
    "tracked_transactions",
    metadata,
    _key("tx_hash", Hash),
    _needed("tracked_at", Moment, index=True),
    Column("attempted_at", Moment),
    _needed("label", ForeignText),
    _needed("note", ForeignText),
)

watches = Table(
    "watches",
    metadata,
    _key("watch_id", RowId),
    _needed("tx_hash", Hash, ForeignKey("tracked_transactions.tx_hash")),
    _needed("network_id", Network),
    _needed("tracked_at", Moment),
    UniqueConstraint("tx_hash", "network_id"),
    sqlite_autoincrement=True,
)

# What came of asking about a hash, whether it is tracked or was only looked up.
checks = Table(
    "checks",
    metadata,
    _key("tx_hash", Hash),
    _key("network_id", Network),
    _needed("last_asked_at", Moment, index=True),
    Column("first_answered_at", Moment),
    Column("last_answered_at", Moment),
    Column("failing_since", Moment),
    Column("failure_kind", String(20)),
    Column("failure_message", ForeignText),
    sqlite_with_rowid=False,
)

# Digests stand in for texts in the unique keys: an index of PostgreSQL takes no long ones.
rejections = Table(
    "rejections",
    metadata,
    _key("rejection_id", RowId),
    _needed("network_id", Network),
    _needed("tx_hash", Hash),
    _needed("sender", Account),
    _needed("nonce", Unsigned),
    _needed("tx_rejection_stage", String(10)),
    _needed("reason_message", ForeignText),
    _needed("timestamp", Moment),
    Column("block_number", BigInteger),
    _needed("first_seen_at", Moment),
    _needed("version_digest", Digest),
    Column("reported_at", Moment),
    Column("reported_reason_digest", Digest),
    Column("overflows", JSON(none_as_null=True)),
    UniqueConstraint("tx_hash", "network_id", "version_digest"),
    UniqueConstraint("tx_hash", "network_id", "reported_reason_digest"),
    Index(None, "tx_hash", "network_id", "timestamp"),
    Index(None, "first_seen_at"),
    Index(None, "network_id", "first_seen_at"),
    sqlite_autoincrement=True,
)

signed_transactions = Table(
    "signed_transactions",
    metadata,
    _key("tx_hash", Hash),
    Column("recipient", Account),
    Column("chain_id", Network),
    _needed("raw", LargeBinary),
)

conditions = Table(
    "conditions",
    metadata,
    _key("subject", String(200)),
    _needed("kind", String(20)),
    _needed("network_id", Network),
    Column("tx_hash", Hash),
    _needed("state", String(20)),
    _needed("since", Moment),
    Column("rejection_id", RowId, ForeignKey("rejections.rejection_id")),
    Index(None, "tx_hash", "network_id"),
)

transitions = Table(
    "transitions",
    metadata,
    _key("transition_id", Uuid),
    _needed("subject", String(200)),
    _needed("kind", String(20)),
    _needed("network_id", Network),
    Column("tx_hash", Hash),
    Column("before", String(20)),
    _needed("after", String(20)),
    _needed("at", Moment, index=True),
    Column("rejection_id", RowId, ForeignKey("rejections.rejection_id")),
    Index(None, "subject", "at"),
)

outbox = Table(
    "outbox",
    metadata,
    _key("outbox_id", RowId),
    _needed("transition_id", Uuid, ForeignKey("transitions.transition_id"), unique=True),
    Column("expanded_at", Moment),
    sqlite_autoincrement=True,
)
Index(
    "ix_outbox_unexpanded",
    outbox.c.outbox_id,
    sqlite_where=outbox.c.expanded_at.is_(None),
    postgresql_where=outbox.c.expanded_at.is_(None),
)

notices = Table(
    "notices",
    metadata,
    _key("notice_id", Uuid),
    _needed("transition_id", Uuid, ForeignKey("transitions.transition_id")),
    _needed("channel", String(40)),
    _needed("address", ForeignText),
    _needed("message_id", String(200), unique=True),
    _needed("created_at", Moment, index=True),
    _needed("state", String(10)),
    _needed("attempts", Integer),
    Column("next_attempt_at", Moment),
    Column("claimed_by", BigInteger),
    Column("claimed_at", Moment),
    Column("sent_at", Moment),
    _needed("outcome", ForeignText),
    UniqueConstraint("transition_id", "channel", "address"),
)
Index(
    "ix_notices_owed",
    notices.c.next_attempt_at,
    sqlite_where=notices.c.state == "owed",
    postgresql_where=notices.c.state == "owed",
)

deliveries = Table(
    "deliveries",
    metadata,
    _key("delivery_id", RowId),
    _needed("notice_id", Uuid),
    _needed("attempted_at", Moment),
    _needed("result", String(10)),
    _needed("outcome", ForeignText),
    ForeignKeyConstraint(["notice_id"], ["notices.notice_id"]),
    Index(None, "notice_id"),
    sqlite_autoincrement=True,
)
