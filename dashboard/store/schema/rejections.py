"""Tables of rejected transactions and their counters, and rejections read from their rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Index,
    LargeBinary,
    RowMapping,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
    false,
)

from dashboard.domain.rejections.exclusion import (
    ModuleOverflow,
    RejectedTransaction,
    RejectionSource,
    RejectionStage,
    StoredRejection,
)
from dashboard.store.schema.columns import (
    Account,
    Digest,
    ForeignText,
    Hash,
    Moment,
    Network,
    RowId,
    Unsigned,
    key,
    metadata,
    needed,
)

# Digests stand in for texts in the unique keys: an index of PostgreSQL takes no long ones.
rejections = Table(
    "rejections",
    metadata,
    key("rejection_id", RowId),
    needed("network_id", Network),
    needed("tx_hash", Hash),
    needed("sender", Account),
    needed("nonce", Unsigned),
    needed("tx_rejection_stage", String(10)),
    needed("reason_message", ForeignText),
    needed("timestamp", Moment),
    Column("block_number", BigInteger),
    needed("first_seen_at", Moment),
    needed("version_digest", Digest),
    Column("reported_at", Moment),
    Column("reported_reason_digest", Digest),
    Column("overflows", JSON(none_as_null=True)),
    # What `reason_message` says, to be counted; a migration parses it again where that changes.
    needed("reason_kind", String(20), server_default="unparsed"),
    Column("module", String(64)),
    # Null where it was seen once only; else at most an hour before the last time.
    Column("seen_again_at", Moment),
    # How it came here first: a `RejectionSource`.
    needed("source", String(20)),
    UniqueConstraint("tx_hash", "network_id", "version_digest"),
    UniqueConstraint("tx_hash", "network_id", "reported_reason_digest"),
    Index(None, "tx_hash", "network_id", "timestamp"),
    Index(None, "first_seen_at"),
    Index(None, "network_id", "first_seen_at"),
    Index(None, "sender", "network_id"),
    Index(None, "sender", "first_seen_at"),
    Index(None, "module", "network_id"),
    Index(None, "module", "first_seen_at"),
    sqlite_autoincrement=True,
)

Index(
    "ix_rejections_unparsed",
    rejections.c.first_seen_at,
    sqlite_where=rejections.c.reason_kind == "unparsed",
    postgresql_where=rejections.c.reason_kind == "unparsed",
)

signed_transactions = Table(
    "signed_transactions",
    metadata,
    key("tx_hash", Hash),
    Column("recipient", Account),
    Column("chain_id", Network),
    needed("raw", LargeBinary),
)


def _counter_columns() -> list[Column[Any]]:
    """Return the columns of a counter.

    `level` is the number of a `counter_steps.CounterStep`. An empty `module` stands
    for reasons that name none.
    """
    return [
        key("level", SmallInteger),
        key("begins_at", Moment),
        key("tx_rejection_stage", String(10)),
        key("reason_kind", String(20)),
        key("module", String(64)),
        key("network_id", Network),
        needed("many", BigInteger),
    ]


rejection_counters = Table(
    "rejection_counters", metadata, *_counter_columns(), sqlite_with_rowid=False
)

# The same of those senders that have many rejections.
sender_counters = Table(
    "sender_counters",
    metadata,
    key("sender", Account),
    *_counter_columns(),
    sqlite_with_rowid=False,
)

# How many rejections each sender has; `has_counters`: all of them are in `sender_counters`.
rejection_senders = Table(
    "rejection_senders",
    metadata,
    key("sender", Account),
    needed("many", BigInteger),
    needed("has_counters", Boolean, server_default=false()),
    sqlite_with_rowid=False,
)

# The modules that are counted by name; nodes could make up any number of names.
rejection_modules = Table(
    "rejection_modules",
    metadata,
    key("module", String(64)),
    sqlite_with_rowid=False,
)


def stored_rejection(row: RowMapping) -> StoredRejection:
    """Read a whole row of the table."""
    column = rejections.c
    return StoredRejection(
        row[column.rejection_id],
        row[column.network_id],
        record_of(row),
        row[column.first_seen_at],
        row[column.reported_at],
        tuple(ModuleOverflow(*each) for each in row[column.overflows] or ()),
        row[column.seen_again_at],
        RejectionSource(row[column.source]),
    )


def record_of(row: RowMapping) -> RejectedTransaction:
    """Read the columns of a row that make the record."""
    column = rejections.c
    return RejectedTransaction(
        row[column.tx_hash],
        row[column.sender],
        row[column.nonce],
        RejectionStage(row[column.tx_rejection_stage]),
        row[column.reason_message],
        row[column.timestamp],
        row[column.block_number],
    )
