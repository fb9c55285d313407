"""Table of silences and maintenance windows."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, String, Table, Uuid

from dashboard.store.schema.columns import ForeignText, Moment, RowId, key, metadata, needed

# It lasts only in the hours `weekly` of every week, in `zone`; without any it lasts throughout.
# `request_id` is chosen by the caller, so that a repeated request finds what the first one made.
silences = Table(
    "silences",
    metadata,
    key("silence_id", RowId),
    needed("request_id", Uuid, unique=True),
    needed("kind", String(20)),
    needed("matchers", JSON),
    needed("starts_at", Moment),
    needed("ends_at", Moment),
    needed("weekly", JSON),
    needed("zone", String(64)),
    needed("author", ForeignText),
    needed("reason", ForeignText),
    needed("created_at", Moment),
    Column("ended_at", Moment),
    Column("ended_by", ForeignText),
    Index(None, "ends_at"),
    sqlite_autoincrement=True,
)
