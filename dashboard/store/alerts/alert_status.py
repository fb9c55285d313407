"""The status of alerting: what is open, pending, waiting or failing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, and_, case, func, select, union

from dashboard.domain.alerts.condition import (
    LONGEST_DIMENSION,
    Condition,
    Grounds,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.inhibition import SOURCES, SourceOutage
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.delivery import DeliveryGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.alerts.notification import Delay, DeliveryResult, NotificationState, Recipient
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.fees.gas import GasSource
from dashboard.domain.people.recipients import mailbox_of
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.conditions import grounds_of_row, is_of_kinds
from dashboard.store.alerts.held_after_restore import count_held
from dashboard.store.alerts.notifications import IS_PENDING
from dashboard.store.alerts.recipients import is_to
from dashboard.store.schema import (
    conditions,
    deliveries,
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    suggested_gas_fees,
    transitions,
)
from dashboard.store.schema.columns import read_as

_OF_NETWORKS: Final = is_of_kinds(
    conditions.c.subject, [each for each in SubjectKind if each is not SubjectKind.TRANSACTION]
)
_KNOWN: Final = "the message that mail failed came by mail, so it said that mail works again"
_NAMED: Final = "the message about the gap named its end"
_GAPS: Final = frozenset({SubjectKind.COVERAGE, SubjectKind.WORKER})
_ITSELF: Final = "it is about this very address, from which messages come back"
_REPLACED_FOR: Final = timedelta(minutes=5)
"""How long fees that a node supplied in place of the gas API count as known."""


class OpenIncident(Struct, frozen=True):
    """An incident of a network that is open, with its grounds.

    `turning_since` is when the opposite was seen first, while it was not seen for long enough.
    """

    subject: Subject
    state: State
    opened_at: datetime
    turning_since: datetime | None = None
    grounds: Grounds | None = None

    def as_condition(self) -> Condition:
        """Return its condition; an outage begins with the first failure, as its message says."""
        failing = self.grounds.failing_since if isinstance(self.grounds, OutageGrounds) else None
        return Condition(self.state, failing or self.opened_at, self.turning_since)


class PendingCondition(NamedTuple):
    """A condition that is in trouble, but not for long enough to open an incident."""

    subject: Subject
    since: datetime


class NotificationCounts(Struct, frozen=True):
    """What is pending and held now, and how the notifications of a period ended.

    `in_delivery` are the pending ones that wait neither for their time nor for the cap: they are
    being handed over, since `in_delivery_since` at the earliest. `capped` are those that the cap
    deferred, the oldest due since `capped_since`. `pending_changes` counts the changes that are not
    notifications yet.
    """

    pending: int
    oldest_pending: datetime | None
    sent: int
    last_sent: datetime | None
    dead: int
    held: int = 0
    in_delivery: int = 0
    in_delivery_since: datetime | None = None
    capped: int = 0
    capped_since: datetime | None = None
    pending_changes: int = 0

    @property
    def is_any_pending(self) -> bool:
        """Whether anything is still to be sent, whether it is a notification yet or not."""
        return bool(self.pending or self.pending_changes)


def pending_conditions(connection: Connection) -> list[PendingCondition]:
    """Return the conditions in trouble, but not for long enough, those that wait longest first."""
    column = conditions.c
    query = select(conditions).where(_OF_NETWORKS, column.turning_since.is_not(None))
    return [
        PendingCondition(read_as(Subject, row, conditions), row[column.turning_since])
        for row in connection.execute(query.order_by(column.turning_since)).mappings()
        if not State(row[column.state]).is_open
    ]


def open_incidents(connection: Connection) -> list[OpenIncident]:
    """Return the open incidents of networks, the oldest first, without those of transactions."""
    column = conditions.c
    opening = transitions.c.transition_id == column.opening_id
    query = select(conditions, transitions.c.grounds).outerjoin(transitions, opening)
    rows = connection.execute(query.where(_OF_NETWORKS).order_by(column.since)).mappings()
    return [
        OpenIncident(
            read_as(Subject, row, conditions),
            State(row[column.state]),
            row[column.opened_at] or row[column.since],
            row[column.turning_since],
            grounds_of_row(row[transitions.c.grounds]),
        )
        for row in rows
        if State(row[column.state]).is_open
    ]


def notified_incidents(connection: Connection, recipient: Recipient) -> list[OpenIncident]:
    """Return which of these a recipient was notified of, by an incident that is still open.

    An incident that a silence, a window, quiet hours or its rule withheld does not count.
    """
    column, pair, about = incidents.c, incident_transitions.c, notification_incidents.c
    member, sent = notification_members.c, notifications.c
    of_open = (
        select(transitions.c.subject)
        .join(conditions, conditions.c.opening_id == transitions.c.opening_id)
        .join(incident_transitions, pair.transition_id == transitions.c.transition_id)
        .join(incidents, column.incident_id == pair.incident_id)
        .where(column.open_key.is_not(None), column.state != IncidentState.PENDING)
        .where(transitions.c.tx_hash.is_(None))
    )
    to_recipient = (is_to(recipient), sent.state == NotificationState.SENT)
    of_changes = (
        of_open.join(
            notification_members,
            and_(
                member.transition_id == transitions.c.transition_id,
                member.incident_id == column.incident_id,
            ),
        )
        .join(notifications, sent.notification_id == member.notification_id)
        .where(*to_recipient)
    )
    of_escalations = (
        of_open.join(notification_incidents, about.incident_id == column.incident_id)
        .join(notifications, sent.notification_id == about.notification_id)
        .where(*to_recipient, about.is_escalation)
    )
    told = set(connection.scalars(union(of_changes, of_escalations)))
    return [each for each in open_incidents(connection) if each.subject.key() in told]


def ends_of(connection: Connection, subjects: Collection[Subject]) -> dict[Subject, datetime]:
    """Return when each of these conditions ended, or when somebody resolved its incident.

    One that has not ended is missing from the result.
    """
    column, pair, of = conditions.c, incident_transitions.c, incidents.c
    keys = {each.key(): each for each in subjects}
    known = select(column.subject, column.state, column.since).where(column.subject.in_(keys))
    over = {
        keys[row.subject]: row.since
        for row in connection.execute(known)
        if not State(row.state).is_open
    }
    resolved = (
        select(column.subject, func.max(of.resolved_at).label("at"))
        .join(transitions, transitions.c.opening_id == column.opening_id)
        .join(incident_transitions, pair.transition_id == transitions.c.transition_id)
        .join(incidents, of.incident_id == pair.incident_id)
        .where(column.subject.in_(keys), of.resolved_at.is_not(None))
        .group_by(column.subject)
    )
    acted = {keys[row.subject]: row.at for row in connection.execute(resolved)}
    return acted | over


def count_open_incidents(connection: Connection) -> Counter[tuple[Severity, IncidentState]]:
    """Count the incidents that are open and not pending."""
    column = incidents.c
    query = select(column.severity, column.state, func.count()).where(
        column.open_key.is_not(None), column.state != IncidentState.PENDING
    )
    found = connection.execute(query.group_by(column.severity, column.state))
    return Counter({(Severity(of), IncidentState(state)): many for of, state, many in found})


def notification_counts(connection: Connection, since: datetime) -> NotificationCounts:
    """Count what is pending and held now, and the notifications made since `since` by state."""
    column = notifications.c
    # A column that stands in no other index lets SQLite take the partial one, which is short.
    pending = select(
        func.count(column.notification_id),
        func.min(column.created_at),
        func.count(column.closed_at),
        func.min(column.closed_at),
    ).where(IS_PENDING)
    count, oldest, in_delivery, closed_at = connection.execute(pending).one()
    capped, capped_since = connection.execute(
        select(func.count(column.notification_id), func.min(column.release_at)).where(
            IS_PENDING, column.closed_at.is_(None), column.held_by.contains(Delay.CAP)
        )
    ).one()
    not_expanded = select(func.count()).where(outbox.c.expanded_at.is_(None))
    # One pass along an index; groups would be sorted first.
    ended = select(
        func.count(case((column.state == NotificationState.SENT, 1))).label("sent"),
        func.max(case((column.state == NotificationState.SENT, column.sent_at))).label("last_sent"),
        func.count(case((column.state == NotificationState.DEAD, 1))).label("dead"),
    )
    ends = connection.execute(ended.where(column.created_at >= since)).one()
    return NotificationCounts(
        pending=count,
        oldest_pending=oldest,
        sent=ends.sent,
        last_sent=ends.last_sent,
        dead=ends.dead,
        held=count_held(connection),
        in_delivery=in_delivery,
        in_delivery_since=closed_at,
        capped=capped,
        capped_since=capped_since,
        pending_changes=connection.scalar(not_expanded) or 0,
    )


def count_by_channel(
    connection: Connection, since: datetime
) -> dict[tuple[str, NotificationState], int]:
    key = (notifications.c.channel, notifications.c.state)
    query = select(*key, func.count()).where(notifications.c.created_at >= since).group_by(*key)
    found = connection.execute(query)
    return {(channel, NotificationState(state)): many for channel, state, many in found}


def failing_deliveries(connection: Connection) -> dict[str, DeliveryGrounds]:
    """Return what each channel refuses, with the answer to its oldest notification."""
    column = notifications.c
    failing = (IS_PENDING, column.attempts > 0)
    of_channels = select(column.channel, func.count(), func.min(column.created_at)).where(*failing)
    found = {}
    for channel, many, oldest in connection.execute(of_channels.group_by(column.channel)).all():
        answer = select(column.outcome).where(*failing, column.channel == channel)
        outcome = connection.scalar(answer.order_by(column.created_at).limit(1))
        found[channel] = DeliveryGrounds(many, oldest, outcome or "")
    return found


def needless(connection: Connection, recipient: Recipient, change: Transition) -> str:
    """Return why a recipient need not be notified of a change; empty if they need to be."""
    if change.subject.kind is SubjectKind.ADDRESS and recipient.channel == MAIL:
        address = mailbox_of(recipient).address[:LONGEST_DIMENSION]
        return _ITSELF if address == change.subject.dimension else ""
    if change.subject.kind in _GAPS and recipient.channel == MAIL:
        return _known_end(connection, change)
    return _known_recovery(connection, recipient, change)


def _known_end(connection: Connection, end: Transition) -> str:
    """Return why nobody needs a mail about the end of a gap: the mail about it named the end."""
    column, mine = transitions.c, transitions.alias()
    opening = select(mine.c.opening_id).where(mine.c.transition_id == end.transition_id)
    told = select(column.grounds).where(column.transition_id == opening.scalar_subquery())
    grounds = None if end.after.is_open else grounds_of_row(connection.scalar(told))
    return _NAMED if isinstance(grounds, GapGrounds) and grounds.ends_at is not None else ""


def _known_recovery(connection: Connection, recipient: Recipient, end: Transition) -> str:
    """Return why a recipient need not be notified that mail works again; empty if they need to be.

    The message about the failure came by mail itself, and no attempt has failed since. Other
    channels notify programs, which need the end.
    """
    if (end.after, end.subject.dimension, recipient.channel) != (State.DELIVERING, MAIL, MAIL):
        return ""
    attempt, member, begun = deliveries.c, notification_members.c, transitions.c
    opening = select(begun.opening_id).where(begun.transition_id == end.transition_id)
    sent = (
        select(func.max(attempt.delivery_id))
        .join(notification_members, member.notification_id == attempt.notification_id)
        .where(attempt.result == DeliveryResult.SENT)
        .where(is_to(recipient, notification_members))
        .where(member.transition_id == opening.scalar_subquery())
    )
    found = connection.scalar(sent)
    if found is None:
        return ""
    failed_later = (
        select(attempt.delivery_id)
        .join(notifications, notifications.c.notification_id == attempt.notification_id)
        .where(notifications.c.channel == MAIL, attempt.delivery_id > found)
        .where(attempt.result == DeliveryResult.DEFERRED)
    )
    return _KNOWN if connection.scalar(failed_later.limit(1)) is None else ""


def source_outages(connection: Connection, now: datetime) -> list[SourceOutage]:
    """Return the APIs that do not answer and the networks whose fees are stale, APIs first."""
    column = conditions.c
    is_silent = column.state.in_([State.SILENT, State.STALE])
    query = select(column.kind, column.network_id, column.since).where(
        is_of_kinds(column.subject, SOURCES), is_silent
    )
    found = [
        SourceOutage(
            SubjectKind(row.kind),
            row.network_id,
            row.since,
            row.kind == SubjectKind.GAS_API and _is_replaced(connection, row.network_id, now),
        )
        for row in connection.execute(query)
    ]
    return sorted(found, key=lambda each: (SOURCES.index(each.kind), each.network_id))


def _is_replaced(connection: Connection, network_id: NetworkId, now: datetime) -> bool:
    column = suggested_gas_fees.c
    lately = (column.network_id == network_id, column.asked_at > now - _REPLACED_FOR)
    query = select(column.source).where(*lately, column.asked_at <= now)
    latest = connection.scalar(query.order_by(column.asked_at.desc()).limit(1))
    return bool(latest == GasSource.NODE_INSTEAD)
