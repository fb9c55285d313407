"""Tables of rejected transactions and their counts by day, and rejections read from their rows."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Index,
    LargeBinary,
    RowMapping,
    String,
    UniqueConstraint,
)

from dashboard.domain.rejections.exclusion import (
    ModuleOverflow,
    RejectedTransaction,
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
    needed,
    partial_index,
    read_as,
    table,
)

# Digests stand in for texts in the unique keys: an index of PostgreSQL takes no long ones.
rejections = table(
    "rejections",
    key("rejection_id", RowId),
    needed("network_id", Network),
    needed("tx_hash", Hash),
    # What upstream did not say is null; the stage then is that of `RejectionStage.UNKNOWN`.
    Column("sender", Account),
    Column("nonce", Unsigned),
    needed("tx_rejection_stage", String(10)),
    needed("reason_message", ForeignText),
    Column("timestamp", Moment),
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
    needed("added", ForeignText, server_default=""),
    UniqueConstraint("tx_hash", "network_id", "version_digest"),
    UniqueConstraint("tx_hash", "network_id", "reported_reason_digest"),
    Index(None, "tx_hash", "network_id", "timestamp"),
    Index(None, "network_id", "first_seen_at"),
    Index(None, "sender", "network_id"),
    Index(None, "module", "network_id"),
    Index(None, "module", "first_seen_at"),
    sqlite_autoincrement=True,
)

# Counts of less than a day and of a sender read nothing but these columns.
_COUNTED = rejections.c[
    "first_seen_at", "rejection_id", "network_id", "tx_rejection_stage", "reason_kind", "module"
]
Index("ix_rejections_arrival", *_COUNTED)
Index("ix_rejections_sender", rejections.c.sender, *_COUNTED)

partial_index(
    "ix_rejections_unparsed",
    rejections.c.first_seen_at,
    where=rejections.c.reason_kind == "unparsed",
)

signed_transactions = table(
    "signed_transactions",
    key("tx_hash", Hash),
    Column("recipient", Account),
    Column("chain_id", Network),
    needed("raw", LargeBinary),
)


# How many rejections arrived on each day in UTC. An empty `module` stands for none.
rejection_days = table(
    "rejection_days",
    key("day", Moment),
    key("module", String(64)),
    key("reason_kind", String(20)),
    key("tx_rejection_stage", String(10)),
    key("network_id", Network),
    needed("many", BigInteger),
    sqlite_with_rowid=False,
)


def stored_rejection(row: RowMapping) -> StoredRejection:
    overflows = tuple(ModuleOverflow(*each) for each in row[rejections.c.overflows] or ())
    record = read_as(RejectedTransaction, row, rejections)
    return read_as(StoredRejection, row, rejections, record=record, overflows=overflows)
