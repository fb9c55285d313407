"""Table of the times in which no mail was taken."""

from __future__ import annotations

from sqlalchemy import Column, Table

from dashboard.store.schema.columns import Moment, RowId, key, metadata, needed

# One that ended before it was reported has both times of reports, so that nobody hears of it.
mail_outages = Table(
    "mail_outages",
    metadata,
    key("after_delivery", RowId),
    needed("since", Moment),
    Column("reported_at", Moment),
    Column("ended_at", Moment),
    Column("end_reported_at", Moment),
)
