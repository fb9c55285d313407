"""Reads of single rows that tests make and the product does not."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from dashboard.domain.alerts.notification import DeliveryAttempt, Notification
from dashboard.domain.fees.gas import FeeSeries, TimedFee
from dashboard.domain.people.access import Action, AuditEntry
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    LocatedReport,
    RejectionReport,
    RejectionSource,
    SaveStatus,
    StoredRejection,
)
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.inclusion import FollowUp
from dashboard.domain.tracking.verdict import Evidence
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.alerts.notification_search import NotificationFilter, search_notifications
from dashboard.store.alerts.notifications import deliveries_by_notification
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.evidence import read_evidence_of_many
from dashboard.store.evidence.record_answers import save_reports
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.rejections.archive import versions_among
from dashboard.store.rejections.search import search
from dashboard.store.schema.columns import milliseconds_of
from dashboard.store.tracking.follow_ups import follow_ups_among
from dashboard.store.tracking.transactions import (
    TrackedTransaction,
    read_tracked,
    select_tracked,
)


def save_report(
    connection: Connection,
    report: RejectionReport,
    network_id: NetworkId,
    now: datetime,
    source: RejectionSource = RejectionSource.REPORTED,
) -> SaveStatus:
    (status,) = save_reports(connection, [LocatedReport(report, network_id)], now, source)
    return status


def read_evidence(
    connection: Connection, network_id: NetworkId | None, tx_hash: TxHash
) -> list[Evidence]:
    """Return the evidence about a hash on one network, or on each that has some."""
    held = read_evidence_of_many(connection, [tx_hash])[tx_hash]
    return [each for each in held if network_id in {None, each.network_id}]


def versions(connection: Connection, tx_hash: TxHash) -> list[StoredRejection]:
    """Return every version of a hash on every network, newest claimed time first."""
    return versions_among(connection, [tx_hash])[tx_hash]


def newest(connection: Connection, limit: int) -> list[StoredRejection]:
    """Return what arrived last, latest arrival first."""
    return search(connection, RejectionFilter(), limit)


def follow_ups_of(connection: Connection, tx_hash: TxHash) -> dict[NetworkId, FollowUp]:
    """Return what nodes said of a hash, by network."""
    return follow_ups_among(connection, [tx_hash])[tx_hash]


def newest_tracked(connection: Connection, limit: int) -> list[TrackedTransaction]:
    """Return tracked transactions, the latest first."""
    return read_tracked(connection, select_tracked().limit(limit))


def recent_notifications(connection: Connection, limit: int) -> list[Notification]:
    """Return the latest notifications of any state, the latest first."""
    return search_notifications(connection, NotificationFilter(), limit)


def deliveries_of(connection: Connection, notification_id: UUID) -> list[DeliveryAttempt]:
    """Return every finished attempt to hand a notification over, oldest first."""
    return deliveries_by_notification(connection, [notification_id])[notification_id]


def base_fees(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> list[TimedFee]:
    """Return the base fees of a time, both ends included, oldest first."""
    key = SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE)
    return fee_values(connection, key, milliseconds_of(since), milliseconds_of(until) + 1)


def audited(store: Store, action: Action | None = None) -> list[AuditEntry]:
    """Return what is on record, or what is of one action, the latest first."""
    with store.read() as connection:
        return audit_entries(connection, AuditFilter(action))
