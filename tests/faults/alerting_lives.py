"""Workers that alert, one life after the other on one store; and what the store holds of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import Row, exists, select

from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.alert.notify import Notifier
from dashboard.domain.alerts.notification import (
    Notification,
    NotificationKind,
    NotificationState,
    Recipient,
)
from dashboard.domain.people.recipients import ConfiguredRecipients, RecipientProfile
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import DeliveryBlocked, DeliveryError, DeliveryWithheld
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire, release
from dashboard.store.schema import (
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
)
from dashboard.store.tracking.transactions import track_all
from tests.builders import A_NETWORK, a_hash, a_record, a_transition
from tests.delivery_checks import tell_rejection
from tests.fake_clock import FakeClock
from tests.model.alert_records import HEARD, About, Waiting
from tests.model.kills import Countdown, Killed
from tests.waiting import PATIENCE

RECIPIENTS: Final = (
    Recipient("mail", "oncall@example.org"),
    Recipient("mail", "others@example.org"),
)
LEAD: Final = Recipient("mail", "lead@example.org")
DOWN: Final = DeliveryBlocked("the mail server is down")
MODULES: Final = ("HUB", "EXP", "MMU", "ADD")
_CONFIGURED: Final = ConfiguredRecipients(RECIPIENTS, {LEAD: RecipientProfile()}, zones=ZoneInfo)
_LEASE: Final = "worker"


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that arrived, and when: by the time of day and since boot."""

    headers: MessageHeaders
    at: datetime
    elapsed: timedelta


@dataclass
class RecordingPost:
    """Takes messages with their time, unless it fails: then in these ways, one after the other."""

    clock: FakeClock
    taken: list[Taken] = field(default_factory=list)
    tried: list[tuple[datetime, str]] = field(default_factory=list)
    failures: Sequence[DeliveryError] = ()
    _failed: int = 0

    def send(self, _: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        assert may_send()
        self.tried.append((self.clock.now(), headers.message_id))
        if self.failures:
            self._failed += 1
            failure = self.failures[self._failed % len(self.failures)]
            raise type(failure)(str(failure))  # one raised again holds all who ever caught it
        self.taken.append(Taken(headers, self.clock.now(), self.clock.elapsed()))
        return "250 taken"


class AlertingLives:
    """One worker after the other on one store."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.post = RecordingPost(clock)
        self.unmarked: Counter[str] = Counter()
        """Messages that were taken from workers that were killed before they wrote so down."""

        self._life = 0
        self._token = 0
        self._kill: Countdown | None = None
        self._before: tuple[Notifier, int] | None = None
        self._notifier: Notifier
        self.restart()

    def restart(self) -> None:
        """Let another worker go on that knows only what is stored."""
        if self._life:
            self._before = self._notifier, self._token
        sending = Sending({"mail": self.post}, _named)
        policy = DeliveryPolicy(patience=timedelta(seconds=PATIENCE))
        deliverer = Deliverer(self.store, sending, self.clock.now, self.clock.elapsed, policy)
        self._notifier = Notifier(self.store, _CONFIGURED, deliverer, self.clock.now)
        self._life += 1
        with self.store.write() as connection:
            if self._life > 1:
                release(connection, _LEASE, self._token)
            token = acquire(connection, _LEASE, f"life {self._life}", timedelta(days=10_000))
        assert token is not None
        self._token = token

    def wake_the_one_before(self) -> None:
        """Let a worker whose lease is over go on, as if it had been paused: it sends nothing."""
        if self._before is None:
            return
        notifier, token = self._before
        sent = len(self.post.taken)
        with suppress(DeliveryWithheld):
            while notifier.run(token, always):
                pass
        assert len(self.post.taken) == sent, "a worker without a lease sent a message"

    def die_after(self, statements: int) -> None:
        """Let the worker be killed before the statement that follows so many more of its own."""
        self._kill = Countdown(statements)

    def work(self, length: timedelta = timedelta()) -> dict[tuple[UUID, Recipient], datetime]:
        """Let time pass, and workers do what is due; if one is killed, the next goes on.

        Return what a failing server kept back when the last one began, and when that was due.
        """
        self.clock.wait(length)
        try:
            with self._kill.running() if self._kill is not None else nullcontext():
                return self._run()
        except Killed:
            self._kill = None
            self.unmarked.update(self._taken_unmarked())
            self.restart()
            self._before = None
            return self._run()

    def _run(self) -> dict[tuple[UUID, Recipient], datetime]:
        kept_back = kept_back_in(self.store)
        while self._notifier.run(self._token, always):
            pass
        return kept_back

    def _taken_unmarked(self) -> set[str]:
        column = notifications.c
        query = select(column.message_id).where(column.state == NotificationState.PENDING)
        with self.store.read() as connection:
            pending = set(connection.scalars(query))
        return {each.headers.message_id for each in self.post.taken} & pending

    def turn_mail(self) -> None:
        """Let the mail server fail, or work again."""
        self.post.failures = () if self.post.failures else (DOWN,)

    def reject(self, numbers: range) -> None:
        """Let transactions be rejected, of several modules."""
        requests = [TrackRequest(a_hash(each), (A_NETWORK,)) for each in numbers]
        with self.store.write() as connection:
            track_all(connection, requests, self.clock.now())
            for number in numbers:
                reason = (
                    f"Transaction line count for module {MODULES[number % 4]}={number + 9} "
                    "is above the limit 8"
                )
                record = a_record(tx_hash=a_hash(number), reason_message=reason)
                now = self.clock.now()
                tell_rejection(connection, record, a_transition(number, at=now), now)

    def check_order(self) -> None:
        """Raise where a message names something of an incident after one with something later."""
        places = {each.headers.message_id: place for place, each in enumerate(self.post.taken)}
        latest: dict[tuple[UUID, str], int] = {}
        for row in members_in(self.store):
            if row.message_id is not None:
                place, about = places[row.message_id], (row.incident_id, row.address)
                assert latest.get(about, -1) <= place, "an incident was told out of order"
                latest[about] = place

    def is_anything_pending(self) -> bool:
        """Whether a notification waits to be sent."""
        pending = select(notifications.c.state).where(
            notifications.c.state == NotificationState.PENDING
        )
        with self.store.read() as connection:
            return connection.execute(pending).first() is not None


def _named(notification: Notification) -> Message:
    return Message(str(notification.notification_id), "-", "-")


def members_in(store: Store) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return each change with who is notified of it, by which message, or why not, in its order."""
    member = notification_members.c
    query = select(
        *(member.transition_id, member.channel, member.address, member.reason),
        *(member.incident_id, notifications.c.message_id, notifications.c.state),
    ).outerjoin(notifications, notifications.c.notification_id == member.notification_id)
    with store.read() as connection:
        return connection.execute(query.order_by(member.position)).all()


def tried_in(
    members: Iterable[Row[*tuple[Any, ...]]], messages: Iterable[tuple[datetime, str]]
) -> dict[tuple[UUID, Recipient], datetime]:
    """Return of each change and recipient when the message that names it was tried first."""
    dates: dict[str, datetime] = {}
    for at, message_id in messages:
        dates.setdefault(message_id, at)
    return {
        (row.transition_id, Recipient(row.channel, row.address)): dates[row.message_id]
        for row in members
        if row.message_id in dates
    }


def kept_back_in(store: Store) -> dict[tuple[UUID, Recipient], datetime]:
    """Return changes in messages that wait while another to the same recipient fails.

    Each comes with its recipient, and with when its message was due.
    """
    column, member, failing = notifications.c, notification_members.c, notifications.alias()
    is_failing = exists().where(
        failing.c.address == column.address,
        failing.c.state == NotificationState.PENDING,
        failing.c.attempts > 0,
    )
    query = (
        select(member.transition_id, column.channel, column.address, column.release_at)
        .join(notifications, column.notification_id == member.notification_id)
        .where(column.state == NotificationState.PENDING, is_failing)
    )
    with store.read() as connection:
        return {
            (row.transition_id, Recipient(row.channel, row.address)): row.release_at
            for row in connection.execute(query)
        }


def waiting_in(store: Store) -> Waiting:
    """Return the reminders and escalations that no worker has claimed.

    A summary may stand for some of both; one that names changes as well goes whatever happens.
    """
    column, pair = notifications.c, notification_incidents.c
    about = (
        select(
            *(incidents.c.rule, incidents.c.grouped_by),
            *(column.kind, column.channel, column.address, pair.is_escalation),
        )
        .join(notification_incidents, pair.incident_id == incidents.c.incident_id)
        .join(notifications, column.notification_id == pair.notification_id)
    )
    query = about.where(
        column.state == NotificationState.PENDING, column.closed_at.is_(None)
    ).where(column.kind != NotificationKind.CHANGE)
    heard = about.where(
        column.state.in_([NotificationState.PENDING, NotificationState.SENT]),
        incidents.c.open_key.is_not(None),
    )
    found: defaultdict[About, set[tuple[str, Recipient]]] = defaultdict(set)
    with store.read() as connection:
        for row in connection.execute(query):
            kinds = [row.kind]
            kinds += [NotificationKind.REMINDER] if row.kind == NotificationKind.SUMMARY else []
            kinds += [NotificationKind.ESCALATION] if row.is_escalation else []
            recipient = Recipient(row.channel, row.address)
            found[about_of(row)] |= {(str(kind), recipient) for kind in kinds}
        for row in connection.execute(heard):
            found[about_of(row)].add((HEARD, Recipient(row.channel, row.address)))
    return found


def escalated_by(store: Store, message_ids: Collection[str]) -> set[tuple[About, Recipient]]:
    """Return to whom these messages told that nobody acknowledged an incident in time."""
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(
            *(incidents.c.rule, incidents.c.grouped_by),
            *(column.message_id, column.channel, column.address),
        )
        .join(notification_incidents, pair.incident_id == incidents.c.incident_id)
        .join(notifications, column.notification_id == pair.notification_id)
        .where(pair.is_escalation, incidents.c.open_key.is_not(None))
    )
    with store.read() as connection:
        rows = connection.execute(query).all()
    return {
        (about_of(row), Recipient(row.channel, row.address))
        for row in rows
        if row.message_id in message_ids
    }


def about_of(row: Row[*tuple[Any, ...]]) -> About:
    """Return what a stored incident is about."""
    return row.rule, tuple(map(tuple, row.grouped_by))


def messages_about_incidents(store: Store) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return each message with each incident that it is about, or a change of which it names."""
    column, pair = notifications.c, notification_incidents.c
    member, change = notification_members.c, incident_transitions.c
    what = select(column.message_id, column.address, incidents.c.rule, incidents.c.grouped_by)
    of_itself = what.join(
        notification_incidents, pair.notification_id == column.notification_id
    ).join(incidents, incidents.c.incident_id == pair.incident_id)
    of_changes = (
        what.join(notification_members, member.notification_id == column.notification_id)
        .join(incident_transitions, change.transition_id == member.transition_id)
        .join(incidents, incidents.c.incident_id == change.incident_id)
    )
    with store.read() as connection:
        return [*connection.execute(of_itself), *connection.execute(of_changes)]
