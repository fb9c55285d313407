"""How large each kind of data was, day by day."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, String, Table

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import Moment

store_growth = Table(
    "store_growth",
    metadata,
    key("kind", String(20)),
    key("day", Moment),
    needed("measured_at", Moment),
    needed("rows", BigInteger),
    needed("bytes", BigInteger),
    needed("is_estimated", Boolean),
    sqlite_with_rowid=False,
)
