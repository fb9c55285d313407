"""What the model remembers of conditions, of what is pending for them, and of who delivers it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid5

from dashboard.domain.alerts.condition import (
    Condition,
    Opening,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.notification import (
    DeliveryAttempt,
    DeliveryResult,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.domain.alerts.rule import GROUP_WAIT
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.search import HashRange
from dashboard.store.alerts.alert_status import open_incidents
from dashboard.store.alerts.conditions import current_condition as held_now
from dashboard.store.alerts.notification_search import (
    NotificationFilter,
    count_notifications,
    search_notifications,
)
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.connection import Connection
from dashboard.store.health import mail_state
from tests.model.kills import LINK_KEY, Turn
from tests.model.rejections import Archive
from tests.model.rejections_answers import Numbers
from tests.model.world import HASHES, NETWORKS
from tests.one_by_one import deliveries_of, recent_notifications

_MANY: Final = 10_000
SUBJECTS: Final = (
    *(Subject.transaction(network, tx_hash) for network in NETWORKS for tx_hash in HASHES),
    *(Subject(SubjectKind.BUSYNESS, network) for network in NETWORKS),
)
_WISHES: Final = (
    NotificationFilter(NETWORKS[0], state=NotificationState.PENDING),
    NotificationFilter(after=State.REJECTED, search="OPS@"),
    NotificationFilter(tx_hashes=HashRange.of(HASHES[1])),
)
OPPOSITES: Final = {State.CALM: State.BUSY, State.BUSY: State.CALM, None: State.CALM}


@dataclass
class Message:
    """A notification with what is not part of it; `rejection` is a place in the archive."""

    notification: Notification
    rejection: int | None
    claimed_at: datetime | None = None
    closed_by: int | None = None
    deliveries: list[DeliveryAttempt] = field(default_factory=list)


@dataclass
class Held:
    """A condition, its opening while it lasts, and the rejection that it rests on."""

    condition: Condition
    opening: Opening | None
    rejection: int | None


@dataclass
class Alerting:
    """Conditions by subject, transitions in their order, and notifications by id."""

    held: dict[Subject, Held] = field(default_factory=dict)
    told: list[tuple[Transition, int | None, Opening | None]] = field(default_factory=list)
    expanded: set[UUID] = field(default_factory=set)
    messages: dict[UUID, Message] = field(default_factory=dict)
    tries: list[tuple[UUID, DeliveryResult, str]] = field(default_factory=list)

    def change(self, transition: Transition, rejection: int | None) -> bool:
        """Change a condition if it still is what the transition says, and write its outbox row."""
        before = self.held.get(transition.subject)
        if self._is_known(transition, rejection):
            return False
        if (before and before.condition.state) is not transition.before:
            return False
        opening = None
        if transition.before is not None and transition.before.is_open:
            opening = before.opening if before else None
        elif transition.after.is_open:
            opening = Opening(transition.transition_id, transition.at)
        lasting = opening if transition.after.is_open else None
        condition = Condition(transition.after, transition.at)
        self.held[transition.subject] = Held(condition, lasting, rejection)
        self.told.append((transition, rejection, opening))
        return True

    def state(self, subject: Subject) -> State | None:
        """Return what is held of a subject."""
        return self.held[subject].condition.state if subject in self.held else None

    def turn(self, subject: Subject, since: datetime | None) -> None:
        """Note since when the opposite is seen."""
        if (before := self.held.get(subject)) is not None:
            before.condition = replace(before.condition, turning_since=since)

    def unexpanded(self) -> list[tuple[Transition, int | None, Opening | None]]:
        """Return what was not made into notifications, oldest first."""
        return [each for each in self.told if each[0].transition_id not in self.expanded]

    def expand(self, transition_id: UUID, recipients: Sequence[Recipient], now: datetime) -> int:
        """Make a notification for each recipient, once."""
        if transition_id in self.expanded:
            return 0
        self.expanded.add(transition_id)
        (cause,) = (each for each in self.told if each[0].transition_id == transition_id)
        for recipient in recipients:
            notification = _notification(cause, recipient, now)
            self.messages[notification.notification_id] = Message(notification, cause[1])
        return len(recipients)

    def due(self, recipient: Recipient, others: Sequence[int]) -> list[Notification]:
        """Return what no other worker with a lease claimed for a recipient, in its order."""
        pending = [
            each.notification
            for each in self.messages.values()
            if each.notification.state is NotificationState.PENDING
            and each.notification.recipient == recipient
        ]
        unsent = {each.message_id for each in pending}
        found = [
            each
            for each in pending
            if each.claimed_by not in others
            and each.closed_at is not None
            and each.in_reply_to not in unsent
        ]
        return sorted(
            found,
            key=lambda each: (each.attempts, _is_over(each), each.created_at, self._place(each)),
        )

    def _place(self, notification: Notification) -> int:
        """Return which of all transitions it is about."""
        return [told for told, _, _ in self.told].index(notification.transition)

    def close(self, recipient: Recipient, token: int, now: datetime) -> None:
        """Fix the thread of everything that is pending for a recipient."""
        for message in self.messages.values():
            mine = message.notification
            is_pending = mine.state is NotificationState.PENDING and mine.closed_at is None
            if mine.recipient == recipient and is_pending:
                message.notification = replace(mine, closed_at=now, in_reply_to=self._thread(mine))
                message.closed_by = token

    def _thread(self, notification: Notification) -> str:
        """Return the message in which a recipient heard of a rejection that changed."""
        transition, opening = notification.transition, notification.opening
        is_change = transition.before is transition.after is State.REJECTED
        if not is_change or opening is None:
            return ""
        message = self.messages.get(_id(opening.transition_id, notification.recipient))
        return "" if message is None else message.notification.message_id

    def claim(self, ids: Sequence[UUID], token: int, now: datetime) -> None:
        """Let the holder of a token have these."""
        for each in ids:
            message = self.messages[each]
            message.notification = replace(message.notification, claimed_by=token)
            message.claimed_at = now

    def is_claimed_as(self, notification: Notification) -> bool:
        """Whether a notification is pending under the very claim that its holder has in hand."""
        now = self.messages[notification.notification_id].notification
        return now.state is NotificationState.PENDING and now.claimed_by == notification.claimed_by

    def finish(
        self, notification_id: UUID, result: DeliveryResult, outcome: str, at: datetime
    ) -> None:
        """Write an attempt down; `at` is when it was sent, is tried again or was given up."""
        message = self.messages[notification_id]
        before = message.notification
        tried_at = message.claimed_at or before.created_at
        message.deliveries.append(DeliveryAttempt(tried_at, result, outcome))
        self.tries.append((notification_id, result, outcome))
        after = replace(before, claimed_by=None, outcome=outcome, attempts=before.attempts + 1)
        if result is DeliveryResult.SENT:
            sent_at = before.sent_at or at
            message.notification = replace(after, state=NotificationState.SENT, sent_at=sent_at)
        else:
            state = (
                NotificationState.PENDING
                if result is DeliveryResult.DEFERRED
                else NotificationState.DEAD
            )
            message.notification = replace(after, state=state, next_attempt_at=at)

    def free(self, token: int, recipient: Recipient) -> None:
        """Free what is claimed for a recipient."""
        for message in self.messages.values():
            notification = message.notification
            is_pending = (
                notification.state is NotificationState.PENDING
                and notification.recipient == recipient
            )
            if is_pending and notification.claimed_by == token:
                is_fresh = message.closed_by == token and not notification.attempts
                closed_at = None if is_fresh else notification.closed_at
                message.closed_by = None if is_fresh else message.closed_by
                message.notification = replace(notification, claimed_by=None, closed_at=closed_at)

    def _is_known(self, transition: Transition, rejection: int | None) -> bool:
        is_same = transition.before is transition.after
        lasting = self.held.get(transition.subject)
        if is_same and lasting is not None and lasting.rejection == rejection:
            return True
        return any(
            told.transition_id == transition.transition_id
            or (is_same and told.subject == transition.subject and behind == rejection)
            for told, behind, _ in self.told
        )


def _notification(
    cause: tuple[Transition, int | None, Opening | None], recipient: Recipient, now: datetime
) -> Notification:
    transition, _, opening = cause
    wait = timedelta() if transition.before is not State.REJECTED else GROUP_WAIT
    return Notification(
        _id(transition.transition_id, recipient),
        _message_id(transition.transition_id, recipient),
        recipient,
        transition,
        None,
        now,
        next_attempt_at=now + wait,
        opening=opening,
        release_at=now + wait,
    )


def _is_over(notification: Notification) -> bool:
    """Whether it says that something ended: what opens goes before it."""
    return not notification.transition.after.is_open


def _id(transition_id: UUID, recipient: Recipient) -> UUID:
    return uuid5(transition_id, f"{recipient.channel}:{recipient.address}")


def _message_id(transition_id: UUID, recipient: Recipient) -> str:
    named = b"linewatch message 1:" + _id(transition_id, recipient).bytes
    proof = hmac.digest(LINK_KEY, named, hashlib.sha256)
    return f"<{UUID(bytes=proof[:16])}@linewatch.invalid>"


def check_alerting(
    connection: Connection, held: Alerting, archive: Archive, numbers: Numbers, turn: Turn
) -> None:
    """Read conditions and notifications in every way whose turn it is; they must be as expected."""
    for subject in SUBJECTS:
        known = held.held.get(subject)
        assert held_now(connection, subject) == (known and known.condition)
    _check_incidents(connection, held)
    waiting = [
        (each.transition, each.change.rejection and numbers.of(each.change.rejection))
        for each in pending_expansion(connection, _MANY)
    ]
    assert waiting == [
        (transition, _rejection(archive, place)) for transition, place, _ in held.unexpanded()
    ]
    messages = _latest(held)
    expected = [
        replace(each.notification, rejection=_rejection(archive, each.rejection))
        for each in messages
    ]
    found = [
        replace(each, rejection=each.rejection and numbers.of(each.rejection))
        for each in recent_notifications(connection, _MANY)
    ]
    assert found == expected
    for each in messages:
        assert deliveries_of(connection, each.notification.notification_id) == each.deliveries
    for wanted in turn.some_of(_WISHES):
        _check_notification_search(connection, expected, wanted)
    _check_mail(connection, held)


def _check_incidents(connection: Connection, held: Alerting) -> None:
    found = {each.subject: (each.state, each.opened_at) for each in open_incidents(connection)}
    assert found == {
        subject: (each.condition.state, each.opening.opened_at)
        for subject, each in held.held.items()
        if subject.tx_hash is None and each.opening is not None
    }


def _check_notification_search(
    connection: Connection, notifications: Sequence[Notification], wanted: NotificationFilter
) -> None:
    ids = [each.notification_id for each in notifications if _fits(each, wanted)]
    assert [each.notification_id for each in search_notifications(connection, wanted)] == ids
    assert count_notifications(connection, wanted) == len(ids)


def _fits(notification: Notification, wanted: NotificationFilter) -> bool:
    transition = notification.transition
    return (
        wanted.network_id in {None, transition.subject.network_id}
        and wanted.state in {None, notification.state}
        and wanted.after in {None, transition.after}
        and (wanted.tx_hashes is None or transition.subject.tx_hash in wanted.tx_hashes)
        and wanted.search.lower() in notification.recipient.address.lower()
    )


def _check_mail(connection: Connection, held: Alerting) -> None:
    found = mail_state(connection)
    states = [each.notification.state for each in held.messages.values()]
    pending = [
        each.notification.created_at
        for each in held.messages.values()
        if each.notification.state is NotificationState.PENDING
    ]
    assert found.counts.pending_changes == len(held.unexpanded())
    assert (found.counts.pending, found.counts.oldest_pending) == (
        len(pending),
        min(pending, default=None),
    )
    assert found.counts.sent == states.count(NotificationState.SENT)
    assert found.counts.dead == states.count(NotificationState.DEAD)
    last = found.last_attempt
    assert (last and (last.result, last.outcome)) == (held.tries[-1][1:] if held.tries else None)


def _rejection(archive: Archive, place: int | None) -> StoredRejection | None:
    return None if place is None else archive.rejections[place - 1]


def _latest(held: Alerting) -> list[Message]:
    by_id = sorted(held.messages.values(), key=lambda each: each.notification.notification_id)
    return sorted(by_id, key=lambda each: each.notification.created_at, reverse=True)
