"""How many rejections arrived when, at which stage, for what: counted as they arrive."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, SmallInteger, String, Table, false

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import Account, Moment, Network


def _tallied() -> list[Column[Any]]:
    """Make the columns of a tally.

    `level` says how long a step is, by a number of `tally_levels.Level`. An empty `module` stands
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


rejection_counters = Table("rejection_counters", metadata, *_tallied(), sqlite_with_rowid=False)

# The same of those senders that have many rejections.
sender_counters = Table(
    "sender_counters", metadata, key("sender", Account), *_tallied(), sqlite_with_rowid=False
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

# The modules that are tallied by name; nodes could make up any number of names.
rejection_modules = Table(
    "rejection_modules",
    metadata,
    key("module", String(64)),
    sqlite_with_rowid=False,
)
