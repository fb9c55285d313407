"""How many rejections arrived when, at which stage, for what: counted as they arrive."""

from __future__ import annotations

from sqlalchemy import BigInteger, SmallInteger, String, Table

from dashboard.store.columns import Moment, Network
from dashboard.store.schema.base import key, metadata, needed

# `level` says how long a step is, by a number of `tally_levels.Level`. An empty `module` stands
# for reasons that name none.
rejection_tallies = Table(
    "rejection_tallies",
    metadata,
    key("level", SmallInteger),
    key("begins_at", Moment),
    key("tx_rejection_stage", String(10)),
    key("reason_kind", String(20)),
    key("module", String(64)),
    key("network_id", Network),
    needed("many", BigInteger),
    sqlite_with_rowid=False,
)

# The modules that are tallied by name; nodes could make up any number of names.
rejection_modules = Table(
    "rejection_modules",
    metadata,
    key("module", String(64)),
    sqlite_with_rowid=False,
)
