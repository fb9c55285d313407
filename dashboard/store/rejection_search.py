"""Rejections as people look for them: by network, stage, module, sender and time of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.ascii_case import holds_text
from dashboard.store.rejections import stored_rejection
from dashboard.store.schema import rejections


def search(
    connection: Connection, wanted: RejectionFilter, limit: int | None = None, skipped: int = 0
) -> list[StoredRejection]:
    """Return the rejections that fit after the first `skipped`, at most `limit`.

    The latest arrival comes first.
    """
    query = _query(wanted).limit(limit).offset(skipped)
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def _query(wanted: RejectionFilter) -> Select[Any]:
    column = rejections.c
    return (
        select(rejections)
        .where(*conditions_of(wanted))
        .order_by(column.first_seen_at.desc(), column.rejection_id.desc())
    )


def conditions_of(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    """Yield what rows of the table must fulfil."""
    column = rejections.c
    for of_row, value in (
        (column.network_id, wanted.network_id),
        (column.tx_rejection_stage, wanted.tx_rejection_stage),
        (column.module, wanted.module or None),
        (column.reason_kind, wanted.reason_kind),
        (column.sender, wanted.sender),
        (column.tx_hash, wanted.tx_hash),
    ):
        if value is not None:
            yield of_row == value
    if wanted.module == "":
        yield column.module.is_(None)
    if wanted.text:
        yield holds_text(column.reason_message, wanted.text)
    if wanted.network_ids is not None:
        yield column.network_id.in_(wanted.network_ids)
    if wanted.tx_hashes is not None:
        yield column.tx_hash.between(*wanted.tx_hashes)
    yield from _between(column.first_seen_at, wanted.since, wanted.until)
    yield from _between(column.timestamp, wanted.claimed_since, wanted.claimed_until)


def _between(
    column: ColumnElement[Any], since: datetime | None, until: datetime | None
) -> Iterator[ColumnElement[bool]]:
    if since is not None:
        yield column >= since
    if until is not None:
        yield column <= until
