"""Who may hand over what: claims are fair to every recipient, exclusive, and end with a lease."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import update

from dashboard.domain.alerts.condition import State, Transition
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.notification import Notification, NotificationKind, Recipient
from dashboard.store.alerts.closings import close
from dashboard.store.alerts.incident_list import open_incident_stories
from dashboard.store.alerts.notification_claims import (
    ClaimRequest,
    claim,
    mark_sent,
    release_claims,
    reschedule,
)
from dashboard.store.alerts.outbox import expand, pending_expansion
from dashboard.store.alerts.reminders_and_escalations import Repetition, repeat
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import release
from dashboard.store.schema import notifications
from tests.builders import A_MOMENT, a_record, a_transition, an_id, seconds
from tests.delivery_checks import DEV, claim_due, make_pending, take_lease, tell_rejection
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import by_subject, closings_for, trusting
from tests.unit.store.fake_machine import Machine


def test_claimed_notification_tells_what_to_write_about(store: Store) -> None:
    make_pending(store)
    token = take_lease(store)

    (notification,) = claim_due(store, token)

    assert notification.transition == a_transition()
    assert notification.rejection is not None
    assert notification.rejection.record == a_record()
    assert (notification.recipient, notification.attempts, notification.claimed_by) == (
        ONCALL,
        0,
        token,
    )


def test_claims_are_limited_and_never_overlap(store: Store) -> None:
    make_pending(store, count=5)
    token = take_lease(store)

    held: list[Notification] = []
    counts = []
    for _ in range(4):
        claimed = claim_due(store, token, limit=2, besides=held)
        counts.append(len(claimed))
        held += claimed

    assert counts == [2, 2, 1, 0]
    assert len({each.notification_id for each in held}) == 5


def test_claim_lasts_as_long_as_the_lease_of_its_worker(store: Store, machine: Machine) -> None:
    make_pending(store)
    token = take_lease(store)
    (lost,) = claim_due(store, token)

    while_it_lasts = claim_due(store, take_lease(store, name="another"))
    machine.wait(seconds(60))
    by_itself = claim_due(store, token)
    next_token = take_lease(store, name="the next")
    (found,) = claim_due(store, next_token)
    with store.write() as connection:
        release(connection, "the next", next_token)
    (again,) = claim_due(store, take_lease(store, name="the last"))

    assert while_it_lasts == by_itself == []
    assert lost.message_id == found.message_id == again.message_id


def test_notification_that_is_freed_was_not_tried(store: Store) -> None:
    make_pending(store, recipients=[ONCALL, DEV])
    token = take_lease(store)
    claimed = claim_due(store, token)
    to_dev = [each for each in claimed if each.recipient == DEV]
    with store.write() as connection:
        release_claims(connection, token, ONCALL)

    (again,) = claim_due(store, token, besides=to_dev)
    assert (again.recipient, again.attempts, again.outcome) == (ONCALL, 0, "")


def test_notifications_that_rest_are_left_out(store: Store) -> None:
    make_pending(store, count=3)
    token = take_lease(store)
    resting, *others = claim_due(store, token)
    with store.write() as connection:
        release_claims(connection, token, ONCALL)
        request = ClaimRequest(
            ONCALL, 10, [resting.notification_id], closings_for(connection, ONCALL)
        )
        found = claim(connection, token, [request], A_MOMENT)

    assert [each.notification_id for each in found] == [each.notification_id for each in others]


def test_notification_that_was_tried_less_is_claimed_first(store: Store) -> None:
    make_pending(store, count=3)
    token = take_lease(store)
    tried, *others = claim_due(store, token)
    with store.write() as connection:
        reschedule(connection, tried, "451", A_MOMENT + seconds(30))
        release_claims(connection, token, ONCALL)

    assert [each.notification_id for each in claim_due(store, token, limit=2)] == [
        each.notification_id for each in others
    ]


def test_share_of_one_recipient_leaves_the_others_theirs(store: Store) -> None:
    make_pending(store, count=5)
    owe_late(store, DEV)

    found = claim_due(store, take_lease(store), limit=2)

    assert [each.recipient for each in found] == [DEV, ONCALL, ONCALL]


def test_later_event_of_an_incident_waits_until_the_earlier_is_marked(store: Store) -> None:
    make_changes_pending(
        store, [a_transition(), a_transition(transition_id=an_id(2), before=State.REJECTED)]
    )
    token = take_lease(store)
    (opening,) = claim_due(store, token)
    with store.write() as connection:
        reschedule(connection, opening, "451", A_MOMENT + seconds(30))
    (again,) = claim_due(store, token)
    with store.write() as connection:
        mark_sent(connection, again.notification_id, "250", A_MOMENT)

    (changed,) = claim_due(store, token)

    assert opening.notification_id == again.notification_id
    assert changed.in_reply_to == opening.message_id


def test_note_on_an_incident_waits_for_its_change_which_was_closed_twice(store: Store) -> None:
    token = take_lease(store)
    make_change_and_note_pending(store)
    claimed = claim_due(store, token)
    with store.write() as connection:
        release_claims(connection, token, ONCALL)  # the server failed: neither was tried

    sent = send_all(store, token)

    assert [each.kind for each in claimed] == [NotificationKind.CHANGE]
    assert [each.kind for each in sent] == [NotificationKind.CHANGE, NotificationKind.CLOSED]
    assert [each.in_reply_to for each in sent] == ["", sent[0].message_id]


def test_notifications_that_answer_each_other_do_not_wait_for_each_other(store: Store) -> None:
    token = take_lease(store)
    make_change_and_note_pending(store)
    with store.write() as connection:
        close(connection, closings_for(connection, ONCALL), token, A_MOMENT)
        change, note = (
            next(each for each in recent_notifications(connection, 2) if each.kind is kind)
            for kind in (NotificationKind.CHANGE, NotificationKind.CLOSED)
        )
        mine = update(notifications).where(
            notifications.c.notification_id == change.notification_id
        )
        connection.execute(mine.values(in_reply_to=note.message_id))  # as version 0.1.0 left them

    sent = send_all(store, token)

    assert {each.message_id for each in sent} == {change.message_id, note.message_id}


def send_all(store: Store, token: int) -> list[Notification]:
    """Send what may go, one claim after the other; return it in its order."""
    sent: list[Notification] = []
    while claimed := claim_due(store, token):
        for each in claimed:
            with store.write() as connection:
                mark_sent(connection, each.notification_id, "250", A_MOMENT)
        sent += claimed
    return sent


def make_change_and_note_pending(store: Store) -> None:
    """Let a transaction be rejected, and the rule that reports it be removed."""
    with store.write() as connection:
        tell_rejection(connection, a_record(), a_transition())
        [entry] = pending_expansion(connection, 10)
        directory = trusting([ONCALL])
        expand(connection, [(entry, by_subject(entry.transition, [ONCALL]))], A_MOMENT, directory)
        [story] = open_incident_stories(connection, 10)
        note = Repetition(
            NotificationKind.CLOSED, A_MOMENT, RuleRoute("rejections", (), ()), directory
        )
        assert repeat(connection, story.incident, note, [ONCALL])


def owe_late(store: Store, recipient: Recipient) -> None:
    """Make one notification pending, of a transaction of its own."""
    make_changes_pending(store, [a_transition(9)], recipient)


def make_changes_pending(
    store: Store, transitions: Sequence[Transition], recipient: Recipient = ONCALL
) -> None:
    with store.write() as connection:
        for nonce, each in enumerate(transitions):
            record = a_record(tx_hash=each.subject.tx_hash, nonce=nonce)
            tell_rejection(connection, record, each)
        for entry in pending_expansion(connection, 10):
            routes = by_subject(entry.transition, [recipient])
            expand(connection, [(entry, routes)], A_MOMENT, trusting([recipient]))
            close(connection, closings_for(connection, recipient), 1, A_MOMENT)
