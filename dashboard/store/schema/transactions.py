"""Every rejection, and what is known of the transactions behind them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Index,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import (
    Account,
    Digest,
    ForeignText,
    Hash,
    Moment,
    Network,
    RowId,
    Unsigned,
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
    # What `reason_message` says, to be counted; a migration reads it anew where that changes.
    needed("reason_kind", String(20), server_default="unparsed"),
    Column("module", String(64)),
    # Null where it was seen once only; else at most an hour before the last time.
    Column("seen_again_at", Moment),
    # How it came here first; null where an earlier version of Linewatch took it in.
    Column("source", String(20)),
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
