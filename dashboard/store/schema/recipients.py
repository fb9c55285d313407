"""Tables of recipients: which are off, suspect or verified, and what each wants."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, String, Table

from dashboard.store.schema.columns import ForeignText, Moment, key, metadata, needed

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

suspect_addresses = Table(
    "suspect_addresses",
    metadata,
    key("channel", String(40)),
    key("address", ForeignText),
    needed("since", Moment),
    needed("message_id", String(200)),
    needed("note", ForeignText),
    sqlite_with_rowid=False,
)

recipients = Table(
    "recipients",
    metadata,
    key("channel", String(40)),
    key("address", ForeignText),
    Column("requested_at", Moment),
    Column("counted_from", Moment),
    needed("requests", Integer),
    needed("wrong_codes", Integer),
    needed("attempts", Integer),
    Column("next_attempt_at", Moment),
    Column("message_id", String(200)),
    Column("sent_at", Moment),
    needed("outcome", ForeignText),
    needed("deliveries", JSON),
    Column("verified_at", Moment),
    needed("verified_by", ForeignText),
    Column("caught_up_at", Moment),
    needed("zone", String(64)),
    needed("active", JSON),
    needed("digest", String(20), server_default=""),
    # Until when digests told them what happened; null before the first time that was due.
    Column("digested_until", Moment),
    Index(None, "message_id"),
    sqlite_with_rowid=False,
)
