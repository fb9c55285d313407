"""What people did: a log that only grows, as triggers see to on either database."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, String, Table

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import ForeignText, Moment, RowId

# The triggers let rows go that are older than `audit_log_kept_since` of the installation, and
# write down themselves that this moment was moved.
audit_log = Table(
    "audit_log",
    metadata,
    key("audit_id", RowId),
    needed("at", Moment),
    needed("actor", ForeignText),
    needed("action", String(40)),
    needed("subject", ForeignText),
    Column("details", JSON(none_as_null=True)),
    Index(None, "at"),
    sqlite_autoincrement=True,
)
