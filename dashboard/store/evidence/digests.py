"""Digests, stored: which are due, and each as a notification that is made once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct
from sqlalchemy import Connection, insert

from dashboard.domain.alerts.condition import (
    INSTALLATION,
    DigestGrounds,
    NetworkDigest,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.notification import DigestTime, NotificationKind, Precedence, Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.health.coverage import Watched, WatchedTime
from dashboard.domain.people.recipients import RecipientDirectory
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.alerts.conditions import insert_transition
from dashboard.store.alerts.incidents import count_opened, open_counts
from dashboard.store.alerts.notifications import notification_id_of, waiting_row
from dashboard.store.alerts.recipients import digested_until, note_digest
from dashboard.store.evidence.busy_context import read_busy_time
from dashboard.store.monitoring.coverage import gaps_until, watched_from, watched_time
from dashboard.store.rejections.counts import count_rejections
from dashboard.store.schema import notifications, outbox

_SPACE: Final = UUID("5b0c7f0e-6a3d-4c1c-9d35-0a1f6f1a7d52")
"""The namespace of digest ids: each recipient and moment has one."""

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(weeks=1)
_LONGEST: Final = timedelta(days=31)
"""The longest period that a digest covers, if no worker ran for long."""


class DueDigest(Struct, frozen=True):
    """A recipient whose digest, sent at `time`, is due at `until`."""

    recipient: Recipient
    time: DigestTime
    until: datetime

    def is_past(self, covered_until: datetime) -> bool:
        """Whether digests cover even the next one: a clock that was ahead made them."""
        period = _WEEK if self.time.is_weekly else _DAY
        return covered_until > self.until + 1.5 * period


def due_digests(
    connection: Connection, directory: RecipientDirectory, now: datetime
) -> list[DueDigest]:
    """Return the digests that are due and not made yet: the latest of each recipient."""
    known = digested_until(connection)
    return [each for each in _wanted(directory, now) if _is_due(known.get(each.recipient), each)]


def make_digest(
    connection: Connection,
    due: DueDigest,
    directory: RecipientDirectory,
    networks: Sequence[NetworkId],
    now: datetime,
    domain: str,
) -> bool:
    """Notify of everything since the digest before; False if there is nothing to make.

    The first time that a recipient wants digests, only the period of the next one begins; so it
    does after a clock that was ahead is set back. If nothing may be sent to a recipient, what
    happened meanwhile is not sent later either.
    """
    before = digested_until(connection, due.recipient).get(due.recipient)
    if not _is_due(before, due):
        return False
    is_past = before is not None and due.is_past(before)
    note_digest(connection, due.recipient, now if is_past else due.until)
    if before is None or is_past or directory.withheld(due.recipient):
        return False
    since = max(before, due.until - _LONGEST)
    grounds = read_digest(connection, networks, since, due.until, is_weekly=due.time.is_weekly)
    _notify(connection, due, grounds, directory, now, domain)
    return True


def read_digest(
    connection: Connection,
    networks: Sequence[NetworkId],
    since: datetime,
    until: datetime,
    *,
    is_weekly: bool,
) -> DigestGrounds:
    """Return what happened in a period, in the figures that pages show."""
    counts = open_counts(connection)
    return DigestGrounds(
        since,
        until,
        is_weekly,
        tuple(_of_network(connection, each, since, until) for each in networks),
        count_opened(connection, since, until),
        counts.many,
        counts.unassigned,
    )


def _of_network(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> NetworkDigest:
    one = [network_id]
    arrived = RejectionFilter(network_id=network_id, since=since, until=until)
    rejections = count_rejections(connection, arrived)
    is_asked = bool(rejections or watched_from(connection, one, Watched.REJECTIONS))
    seen = watched_time(connection, one, Watched.REJECTIONS, since, until)
    gaps = gaps_until(connection, one, until, since)
    missed = WatchedTime.of(
        since, until, ((each.begins_at, each.ends_at or until) for each in gaps)
    )
    return NetworkDigest(
        network_id,
        rejections if is_asked else None,
        seen.is_whole,
        read_busy_time(connection, network_id, since, until).share,
        len(missed.missed),
        missed.length - missed.watched,
    )


def _notify(
    connection: Connection,
    due: DueDigest,
    grounds: DigestGrounds,
    directory: RecipientDirectory,
    now: datetime,
    domain: str,
) -> None:
    recipient = due.recipient
    transition_id, position = _record(connection, due, grounds, now)
    notification_id = notification_id_of(transition_id, recipient)
    release_at, held_for = directory.hold(recipient, now)
    row = waiting_row(
        connection, notification_id, recipient, domain, now=now, release_at=release_at
    ) | {
        "transition_id": transition_id,
        "position": position,
        "kind": NotificationKind.DIGEST,
        "precedence": Precedence.REMINDER,
        "held_for": held_for,
        "members": 0,
    }
    connection.execute(insert(notifications), row)


def _record(
    connection: Connection, due: DueDigest, grounds: DigestGrounds, now: datetime
) -> tuple[UUID, int]:
    """Store the transition behind a digest, with a place in the outbox that is already done."""
    recipient, subject = due.recipient, Subject(SubjectKind.DIGEST, INSTALLATION)
    period = f"{grounds.begins_at.isoformat()}:{due.until.isoformat()}"
    name = f"{recipient.channel}:{recipient.address}:{period}"
    transition_id = uuid5(_SPACE, name)
    reported = Transition(transition_id, subject, None, State.REPORTED, due.until, grounds)
    insert_transition(connection, reported)
    expanded = {"transition_id": transition_id, "expanded_at": now}
    position = connection.scalar(insert(outbox).returning(outbox.c.outbox_id), expanded)
    return transition_id, int(position or 0)


def _wanted(directory: RecipientDirectory, now: datetime) -> Iterator[DueDigest]:
    for recipient in {**directory.chosen, **directory.configured.profiles}:
        wanted = directory.profile(recipient).digest
        if wanted is not None and recipient.channel == MAIL:
            yield DueDigest(recipient, wanted, wanted.latest(now, directory.zone(recipient)))


def _is_due(before: datetime | None, due: DueDigest) -> bool:
    return before is None or before < due.until or due.is_past(before)
