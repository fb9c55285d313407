"""Search for notifications by state, subject and time; and sending dead ones again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, exists, false, func, or_, select, update

from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.notification import Notification, NotificationState
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.search import HashRange, bare_beginning
from dashboard.store.alerts.notifications import notification_of, select_notifications
from dashboard.store.alerts.recipients import is_off, is_to, recipients_in
from dashboard.store.engine.batching import equal, within
from dashboard.store.schema import (
    conditions,
    deliveries,
    notification_incidents,
    notification_members,
    notifications,
    rejections,
    transitions,
)
from dashboard.store.shown_search import (
    hash_in_range,
    hash_or_sender_in_range,
    hashes_with_label_containing,
    shows_words,
)

DeadNotifications: TypeAlias = UUID | str
"""One dead notification, by its id, or all dead ones to an address."""

_IDENTITY: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NotificationFilter(Struct, frozen=True):
    """Which notifications to find; None matches everything.

    `since` and `until`, both inclusive, bound the time at which the notification was made. `after`
    is the state that it reports. `search` is what a person types: text that the page shows of the
    notification or of the rejection behind it; with an @ it is an address or a Message-ID, whose
    first part is the id of webhooks. `beginning` is the beginning of the hash or of the sender of
    its rejection. `incident_id` is one of the incidents that it is about.
    """

    network_id: NetworkId | None = None
    state: NotificationState | None = None
    after: State | None = None
    tx_hashes: HashRange | None = None
    since: datetime | None = None
    until: datetime | None = None
    search: str = ""
    beginning: HashRange | None = None
    incident_id: UUID | None = None


def search_notifications(
    connection: Connection,
    wanted: NotificationFilter,
    limit: int | None = None,
    skipped: int = 0,
    before: tuple[datetime, UUID] | None = None,
) -> list[Notification]:
    """Return at most `limit` matching notifications after the first `skipped`, the latest first.

    A notification of several transitions matches if any of them does. `before`: moment and id of
    the one that they follow.
    """
    query = (
        select_notifications()
        .where(*_conditions(connection, wanted), *_follow(before))
        .order_by(notifications.c.created_at.desc(), notifications.c.notification_id)
        .limit(limit)
        .offset(skipped)
    )
    return [notification_of(row) for row in connection.execute(query).mappings()]


def count_notifications(connection: Connection, wanted: NotificationFilter) -> int:
    query = select(func.count()).select_from(notifications)
    return connection.scalars(query.where(*_conditions(connection, wanted))).one()


def _conditions(
    connection: Connection, wanted: NotificationFilter
) -> Iterator[ColumnElement[bool]]:
    yield from equal((notifications.c.state, wanted.state))
    if wanted.incident_id is not None:
        pair = notification_incidents.c
        of_incident = select(pair.notification_id).where(pair.incident_id == wanted.incident_id)
        yield notifications.c.notification_id.in_(of_incident)
    of_members = [*_member_conditions(wanted)]
    if of_members:
        yield _has_member(and_(*of_members))
    if wanted.search:
        addresses = _addresses_with(connection, wanted.search)
        is_to = notifications.c.address.in_(addresses) if addresses else false()
        yield or_(is_to, *_is_found(wanted.search))
    yield from within(notifications.c.created_at, wanted.since, wanted.until)


def _follow(before: tuple[datetime, UUID] | None) -> Iterator[ColumnElement[bool]]:
    if before is not None:
        at, last_id = before
        made = notifications.c.created_at
        yield made <= at
        yield or_(made < at, notifications.c.notification_id > last_id)


def _member_conditions(wanted: NotificationFilter) -> Iterator[ColumnElement[bool]]:
    yield from equal(
        (transitions.c.network_id, wanted.network_id), (transitions.c.after, wanted.after)
    )
    if wanted.tx_hashes is not None:
        yield _is_about(hash_in_range(conditions.c.tx_hash, wanted.tx_hashes))
    if wanted.beginning is not None:
        yield _is_about(hash_or_sender_in_range(conditions.c.tx_hash, wanted.beginning))


def _is_found(text: str) -> Iterator[ColumnElement[bool]]:
    """Yield conditions of which one is enough: state, answer, id, or the transaction behind it."""
    typed = text.lower()
    identity = _IDENTITY.search(text)
    if identity is not None:
        yield notifications.c.notification_id == UUID(identity[0])
        yield notifications.c.message_id.startswith(f"<{identity[0]}@")
    if "@" in text:
        return
    yield notifications.c.outcome.icontains(text, autoescape=True)
    yield _has_member(or_(*_member_is_found(text, typed)))


def _member_is_found(text: str, typed: str) -> Iterator[ColumnElement[bool]]:
    states = [
        state
        for state in State
        if any(typed in name or name in typed for name in {state.value, state.word})
    ]
    if states:
        yield transitions.c.after.in_(states)
    hashes = bare_beginning(text)
    if hashes is not None:
        yield _is_about(hash_or_sender_in_range(conditions.c.tx_hash, hashes))
    yield _is_about(conditions.c.tx_hash.in_(hashes_with_label_containing(text)))
    of_rejection = rejections.c.rejection_id == transitions.c.rejection_id
    yield exists().where(of_rejection, shows_words(text)).correlate(transitions)


def _has_member(of_transition: ColumnElement[bool]) -> ColumnElement[bool]:
    member = notification_members.c
    fitting = (
        select(member.notification_id)
        .join(transitions, transitions.c.transition_id == member.transition_id)
        .where(member.notification_id.is_not(None), of_transition)
    )
    return notifications.c.notification_id.in_(fitting.correlate(None))


def _is_about(of_condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return transitions.c.subject.in_(select(conditions.c.subject).where(of_condition))


def _addresses_with(connection: Connection, words: str) -> list[str]:
    """Return the addresses that contain words.

    Addresses are few and all in one index. Searching each notification for the words instead took
    11 ms of CPU for 20,000 of them; this takes 3.
    """
    known = select(notifications.c.address).distinct().cte("known").prefix_with("MATERIALIZED")
    found = select(known.c.address).where(known.c.address.icontains(words, autoescape=True))
    return list(connection.scalars(found))


def count_dead_by_address(connection: Connection, since: datetime) -> dict[str, int]:
    """Count the dead notifications by address, of those made from `since` on."""
    column = notifications.c
    dead = select(column.address, func.count()).where(
        column.state == NotificationState.DEAD, column.created_at >= since
    )
    rows = connection.execute(dead.group_by(column.address).order_by(column.address))
    return {address: count for address, count in rows}  # noqa: C416 - dict() takes no Row as a pair


def resend(connection: Connection, which: DeadNotifications, now: datetime) -> list[UUID]:
    """Make dead notifications pending again, as if never tried; return which.

    Those to an address that is off stay dead.
    """
    column = notifications.c.address if isinstance(which, str) else notifications.c.notification_id
    is_dead = and_(column == which, notifications.c.state == NotificationState.DEAD)
    whom = select(notifications.c.channel, notifications.c.address).where(is_dead).distinct()
    off = [each for each in recipients_in(connection, whom) if is_off(connection, each)]
    dead = update(notifications).where(is_dead, *(~is_to(each) for each in off))
    pending = dead.values(
        state=NotificationState.PENDING,
        attempts=0,
        claimed_by=None,
        closed_by=None,
        next_attempt_at=now,
    )
    return list(connection.scalars(pending.returning(notifications.c.notification_id)))


def stop_sending(connection: Connection, sent: Sequence[UUID], now: datetime) -> int:
    """Make resent notifications dead again, if nobody claimed or tried them since."""
    column = notifications.c
    untried = update(notifications).where(
        column.notification_id.in_(sent),
        column.state == NotificationState.PENDING,
        column.attempts == 0,
        column.claimed_by.is_(None),
    )
    of_it = deliveries.c.notification_id == column.notification_id
    made = select(func.count()).where(of_it).correlate(notifications).scalar_subquery()
    dead = untried.values(state=NotificationState.DEAD, attempts=made, next_attempt_at=now)
    return connection.execute(dead).rowcount
