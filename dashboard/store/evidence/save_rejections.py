"""Save rejections, and mark the cohorts of tracked hashes in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from dashboard.domain.exclusion import (
    RejectedTransaction,
    RejectionSource,
    SaveStatus,
)
from dashboard.domain.quantity import NetworkId
from dashboard.store.rejections import save
from dashboard.store.rejections.save import LocatedReport
from dashboard.store.tracking.cohorts import mark_rejected


def save_polled(
    connection: Connection, network_id: NetworkId, record: RejectedTransaction, now: datetime
) -> int:
    """Save a version that a poll answered; return its id, the same for the same version."""
    mark_rejected(connection, network_id, [record.tx_hash])
    return save.save_polled(connection, network_id, record, now)


def save_reports(
    connection: Connection,
    located: Sequence[LocatedReport],
    now: datetime,
    source: RejectionSource = RejectionSource.REPORTED,
) -> list[SaveStatus]:
    """Save what nodes report, in this order; the same reason for the same hash changes nothing.

    A version that was polled before it was reported is marked as reported.
    """
    saved = save.save_reports(connection, located, now, source)
    for network_id, hashes in saved.new_hashes().items():
        mark_rejected(connection, network_id, hashes)
    return saved.statuses
