"""Saves a rejection as a poll does, without the news of it."""

from __future__ import annotations

from datetime import datetime

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.store.engine.connection import Connection
from dashboard.store.rejections.save import save_version
from dashboard.store.tracking.cohorts import mark_rejected


def save_record(
    connection: Connection, network_id: NetworkId, record: RejectedTransaction, now: datetime
) -> int:
    """Save a version that upstream answered, and mark its hash as rejected; return its id."""
    mark_rejected(connection, network_id, [record.tx_hash])
    return save_version(connection, network_id, record, now)
