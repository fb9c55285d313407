"""What nodes say of hashes: where they were included, or that their nonce was used by another."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, String, Table

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import Digest, ForeignText, Hash, Moment, Network, Unsigned

# Times are those of our asking; `settled_at` is set once nothing can change any more.
follow_ups = Table(
    "follow_ups",
    metadata,
    key("tx_hash", Hash),
    key("network_id", Network),
    needed("last_asked_at", Moment),
    Column("answered_at", Moment),
    Column("block_number", BigInteger),
    Column("block_hash", Digest),
    Column("is_successful", Boolean),
    Column("included_since", Moment),
    Column("next_nonce", Unsigned),
    Column("replaced_since", Moment),
    Column("settled_at", Moment),
    Column("failing_since", Moment),
    Column("failure_kind", String(20)),
    Column("failure_message", ForeignText),
    sqlite_with_rowid=False,
)
