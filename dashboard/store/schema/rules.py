"""The table of rules: each with its body as plain values, in the order of its file."""

from __future__ import annotations

from sqlalchemy import JSON, Integer, String, Table

from dashboard.store.schema.columns import ForeignText, Moment, key, metadata, needed

rules = Table(
    "rules",
    metadata,
    key("name", String(64)),
    needed("position", Integer),
    needed("body", JSON),
    needed("changed_at", Moment),
    needed("changed_by", ForeignText),
)
