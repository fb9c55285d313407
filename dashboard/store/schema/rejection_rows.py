"""Rows of the table of rejections, read as the records that they keep."""

from __future__ import annotations

from sqlalchemy import RowMapping

from dashboard.domain.exclusion import (
    ModuleOverflow,
    RejectedTransaction,
    RejectionSource,
    RejectionStage,
    StoredRejection,
)
from dashboard.store.schema.transactions import rejections


def stored_rejection(row: RowMapping) -> StoredRejection:
    """Read a whole row of the table."""
    column = rejections.c
    return StoredRejection(
        row[column.rejection_id],
        row[column.network_id],
        record_of(row),
        row[column.first_seen_at],
        row[column.reported_at],
        tuple(ModuleOverflow(*each) for each in row[column.overflows] or ()),
        row[column.seen_again_at],
        _source_of(row),
    )


def _source_of(row: RowMapping) -> RejectionSource:
    """Return what is written down, or what follows where an earlier version did not."""
    column = rejections.c
    if row[column.source] is not None:
        return RejectionSource(row[column.source])
    reported_at = row[column.reported_at]
    is_reported = reported_at is not None and reported_at <= row[column.first_seen_at]
    return RejectionSource.REPORTED if is_reported else RejectionSource.POLLED


def record_of(row: RowMapping) -> RejectedTransaction:
    """Read the columns of a row that make the record."""
    column = rejections.c
    return RejectedTransaction(
        row[column.tx_hash],
        row[column.sender],
        row[column.nonce],
        RejectionStage(row[column.tx_rejection_stage]),
        row[column.reason_message],
        row[column.timestamp],
        row[column.block_number],
    )
