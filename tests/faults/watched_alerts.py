"""Alerts of a world that is watched: what was sent, and what the store holds of it."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import Row, select

from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.alert.notify import Notifier
from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.alerts.notification import Notification, Recipient
from dashboard.domain.alerts.pace import LARGEST_HOURLY
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import DeliveryBlocked, DeliveryError
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import acquire
from dashboard.store.evidence.record_answers import save_polled
from dashboard.store.schema import (
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
)
from dashboard.store.tracking.transactions import track
from tests.builders import A_NETWORK, a_hash, a_record, an_id
from tests.databases import new_sqlite_store
from tests.fake_clock import FakeClock
from tests.faults.expected_alerts import About, Waiting
from tests.waiting import PATIENCE

RECIPIENTS: Final = (
    Recipient("mail", "oncall@example.org"),
    Recipient("mail", "others@example.org"),
)
LEAD: Final = Recipient("mail", "lead@example.org")
_CONFIGURED: Final = ConfiguredRecipients((*RECIPIENTS, LEAD), zones=ZoneInfo)
DOWN: Final = DeliveryBlocked("the mail server is down")
_HOUR: Final = timedelta(hours=1)
MODULES: Final = ("HUB", "EXP", "MMU", "ADD")


@dataclass
class RecordingPost:
    """Takes messages with their time, unless it fails: then in these ways, one after the other."""

    clock: FakeClock
    taken: list[tuple[datetime, MessageHeaders]] = field(default_factory=list)
    taken_after: list[timedelta] = field(default_factory=list)
    """How long after boot each was taken."""
    tried: list[tuple[datetime, str]] = field(default_factory=list)
    failures: Sequence[DeliveryError] = ()
    _failed: int = 0

    def send(self, _: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Take a message."""
        assert may_send()
        self.tried.append((self.clock.now(), headers.message_id))
        if self.failures:
            self._failed += 1
            failure = self.failures[self._failed % len(self.failures)]
            raise type(failure)(str(failure))  # one raised again holds all who ever caught it
        self.taken.append((self.clock.now(), headers))
        self.taken_after.append(self.clock.elapsed())
        return "250 taken"


class WatchedAlerts:
    """One worker after the other on one store; what each recipient is to hear of is remembered."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        """Begin with one worker."""
        self.store, self.clock = store, clock
        self.post = RecordingPost(clock)
        self.happened: list[UUID] = []
        self.silenced: set[UUID] = set()
        self.restart()

    def restart(self) -> None:
        """Let another worker go on that knows only what is stored."""
        sending = Sending({"mail": self.post}, _named)
        policy = DeliveryPolicy(patience=timedelta(seconds=PATIENCE))
        deliverer = Deliverer(self.store, sending, self.clock.now, self.clock.elapsed, policy)
        self._notifier = Notifier(
            self.store, RECIPIENTS, deliverer, self.clock.now, configured=_CONFIGURED
        )

    def turn_mail(self) -> None:
        """Let the mail server fail, or work again."""
        self.post.failures = () if self.post.failures else (DOWN,)

    def reject(self, numbers: range, *, is_silenced: bool = False) -> None:
        """Let transactions be rejected, of several modules."""
        with self.store.write() as connection:
            for number in numbers:
                reason = (
                    f"Transaction line count for module {MODULES[number % 4]}={number + 9} "
                    "is above the limit 8"
                )
                record = a_record(tx_hash=a_hash(number), reason_message=reason)
                request = TrackRequest(a_hash(number), (A_NETWORK,), None, "")
                track(connection, request, self.clock.now())
                rejection_id = save_polled(connection, A_NETWORK, record, self.clock.now())
                subject = Subject.transaction(A_NETWORK, a_hash(number))
                transition = Transition(
                    an_id(number), subject, None, State.REJECTED, self.clock.now()
                )
                assert record_transition(connection, transition, rejection_id)
                self.happened.append(transition.transition_id)
        if is_silenced:
            self.silenced |= {an_id(number) for number in numbers}

    def work(self, length: timedelta = timedelta()) -> None:
        """Let time pass, and the worker do what is due."""
        self.clock.wait(length)
        with self.store.write() as connection:
            token = acquire(connection, "worker", "us", timedelta(days=30))
        assert token is not None
        while self._notifier.run(token, always):
            pass

    def settle(self) -> None:
        """Work until nothing is pending to anybody."""
        self.post.failures = ()
        for _ in range(400):
            self.work(timedelta(minutes=5))
            with self.store.read() as connection:
                waits = select(notifications.c.state).where(notifications.c.state == "pending")
                if connection.execute(waits).first() is None:
                    return
        raise AssertionError("something is pending for days")

    def check(self) -> None:
        """Raise AssertionError unless everybody was notified of everything once, in order."""
        member = notification_members.c
        query = select(
            *(member.transition_id, member.address, member.position, member.incident_id),
            notifications.c.message_id,
        ).outerjoin(notifications, notifications.c.notification_id == member.notification_id)
        with self.store.read() as connection:
            rows = connection.execute(query.order_by(member.position)).all()
        known = Counter((row.transition_id, row.address) for row in rows)
        expected = {(each, to.address) for each in self.happened for to in RECIPIENTS}
        assert set(known) == expected, "a change reached nobody"
        assert max(known.values(), default=1) == 1, "a change reached somebody twice"
        sent = Counter((headers.message_id, headers.to) for _, headers in self.post.taken)
        assert max(sent.values(), default=1) == 1, "a message was sent twice"
        for row in rows:
            is_sent = (row.message_id, row.address) in sent
            assert is_sent is (row.transition_id not in self.silenced)
        self._check_order(rows)
        self._check_pace()

    def _check_order(self, members: Sequence[Row[*tuple[Any, ...]]]) -> None:
        """Raise where a message names something of an incident after one with something later."""
        places = {each.message_id: place for place, (_, each) in enumerate(self.post.taken)}
        latest: dict[tuple[UUID, str], int] = {}
        for row in (each for each in members if each.message_id is not None):
            place, about = places[row.message_id], (row.incident_id, row.address)
            assert latest.get(about, -1) <= place, "an incident was told out of order"
            latest[about] = place

    def _check_pace(self) -> None:
        times: defaultdict[str, list[datetime]] = defaultdict(list)
        for at, headers in self.post.taken:
            times[headers.to].append(headers.date)
            assert at >= headers.date
        for dates in times.values():
            for date in dates:
                within = sum(date - _HOUR < each <= date for each in dates)
                assert within <= LARGEST_HOURLY, f"{within} messages within an hour"


def _named(notification: Notification) -> Message:
    return Message(str(notification.notification_id), "-", "-")


@contextmanager
def watched_alerts(folder: Path) -> Iterator[WatchedAlerts]:
    """Yield alerting on a store of its own."""
    folder.mkdir(parents=True)
    clock = FakeClock()
    url = new_sqlite_store(folder / "linewatch.db")
    with open_store(url, clock.boot_clock) as store:
        yield WatchedAlerts(store, clock)
    shutil.rmtree(folder)


def members_in(store: Store) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return each change with who is notified of it, by which message, or why not."""
    member = notification_members.c
    query = select(
        *(member.transition_id, member.channel, member.address, member.reason),
        *(notifications.c.message_id, notifications.c.state),
    ).outerjoin(notifications, notifications.c.notification_id == member.notification_id)
    with store.read() as connection:
        return connection.execute(query).all()


def tried_in(store: Store, messages: Iterable[tuple[datetime, str]]) -> dict[UUID, datetime]:
    """Return of each change when the first message that names it was tried."""
    dates: dict[str, datetime] = {}
    for at, message_id in messages:
        dates.setdefault(message_id, at)
    found: dict[UUID, datetime] = {}
    for row in members_in(store):
        if row.message_id in dates:
            at = dates[row.message_id]
            found[row.transition_id] = min(at, found.get(row.transition_id, at))
    return found


def waiting_in(store: Store) -> Waiting:
    """Return the reminders and escalations that no worker has claimed."""
    column, pair = notifications.c, notification_incidents.c
    query = (
        select(
            *(incidents.c.rule, incidents.c.grouped_by),
            *(column.kind, column.channel, column.address),
        )
        .join(notification_incidents, pair.incident_id == incidents.c.incident_id)
        .join(notifications, column.notification_id == pair.notification_id)
        .where(column.state == "pending", column.closed_at.is_(None))
    )
    found: defaultdict[About, set[tuple[str, Recipient]]] = defaultdict(set)
    with store.read() as connection:
        for row in connection.execute(query):
            about = (row.rule, tuple(map(tuple, row.grouped_by)))
            found[about].add((row.kind, Recipient(row.channel, row.address)))
    return found


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
