"""Table of the addresses that are off."""

from __future__ import annotations

from sqlalchemy import String, Table

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import ForeignText, Moment

addresses_off = Table(
    "addresses_off",
    metadata,
    key("channel", String(40)),
    key("address", ForeignText),
    needed("cause", String(20)),
    needed("since", Moment),
    needed("by", ForeignText),
    needed("note", ForeignText),
    sqlite_with_rowid=False,
)
