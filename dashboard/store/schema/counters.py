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


rejection_tallies = Table("rejection_tallies", metadata, *_tallied(), sqlite_with_rowid=False)

# The same of those senders that have many rejections.
sender_tallies = Table(
    "sender_tallies", metadata, key("sender", Account), *_tallied(), sqlite_with_rowid=False
)

# How many rejections each sender has; `is_tallied` says that all of them are in `sender_tallies`.
rejection_senders = Table(
    "rejection_senders",
    metadata,
    key("sender", Account),
    needed("many", BigInteger),
    needed("is_tallied", Boolean, server_default=false()),
    sqlite_with_rowid=False,
)

# The modules that are tallied by name; nodes could make up any number of names.
rejection_modules = Table(
    "rejection_modules",
    metadata,
    key("module", String(64)),
    sqlite_with_rowid=False,
)
