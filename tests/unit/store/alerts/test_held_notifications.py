"""After a restore, what may have been told already is held until somebody decides."""

from __future__ import annotations

from pathlib import Path

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.people.recipients import AddressOff, OffCause
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.held_after_restore import (
    SETTLING,
    count_held,
    discard_held,
    release_held,
)
from dashboard.store.alerts.notification_claims import mark_dead, mark_sent
from dashboard.store.alerts.notification_search import (
    NotificationFilter,
    count_dead_by_address,
    resend,
    search_notifications,
    stop_sending,
)
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.alerts.recipients import turn_off, turn_on
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.backup import back_up
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_transition,
    seconds,
)
from tests.delivery_checks import (
    DEV,
    claim_due,
    claim_for_all,
    make_pending,
    reject,
    take_lease,
    tell_rejection,
)
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL
from tests.routes import expand_alone
from tests.saved_record import save_record
from tests.unit.store.restores import AN_HOUR_LATER, restored


def test_notification_that_the_backup_owes_is_held(url: str, backup: Path) -> None:
    done = restored(url, backup)

    with open_store(url) as store:
        token = take_lease(store)
        assert claim_due(store, token, AN_HOUR_LATER) == []
        with store.read() as connection:
            assert count_held(connection) == done.held == 3


def test_change_that_the_backup_had_not_told_yet_is_held(url: str, tmp_path: Path) -> None:
    with open_store(url) as store:
        reject(store, 1, 2)
        backup = back_up(store, tmp_path / "backup.sqlite").path

    done = restored(url, backup)

    assert done.held == 2
    with open_store(url) as store:
        _expand(store)
        assert claim_due(store, take_lease(store), AN_HOUR_LATER) == []


def test_only_what_certainly_happened_after_the_restore_is_sent(url: str, backup: Path) -> None:
    """A network has to settle first: its condition may have lasted before the backup was made."""
    seen_at, busyness = AN_HOUR_LATER + seconds(60), SubjectKind.BUSYNESS
    rejected = {60: seconds(-1), 61: seconds(0), 62: seconds(1)}
    turns = {
        63: (A_NETWORK, State.BUSY, State.CALM, SETTLING),
        64: (ANOTHER_NETWORK, None, State.BUSY, SETTLING + seconds(1)),
    }
    restored(url, backup)

    with open_store(url) as store:
        with store.write() as connection:
            for number, delay in rejected.items():
                record = a_record(tx_hash=a_hash(number), timestamp=AN_HOUR_LATER + delay)
                tell_rejection(connection, record, a_transition(number, at=seen_at), seen_at)
            for number, (network, before, after, at) in turns.items():
                turned = a_transition(
                    number,
                    subject=Subject(busyness, network),
                    before=before,
                    after=after,
                    at=AN_HOUR_LATER + at,
                )
                assert record_transition(connection, turned, None)
        _expand(store)
        with store.read() as connection:
            found = {
                each.transition.transition_id.int: each.state
                for each in recent_notifications(connection, 5)
            }

    held, pending = NotificationState.HELD, NotificationState.PENDING
    assert found == {60: held, 61: held, 62: pending, 63: held, 64: pending}


def test_released_notification_is_pending_and_nothing_is_in_doubt_any_more(
    url: str, backup: Path
) -> None:
    restored(url, backup)

    with open_store(url) as store:
        with store.write() as connection:
            assert release_held(connection, AN_HOUR_LATER) == 3
        with store.write() as connection:
            save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(60)), AN_HOUR_LATER)
            record_transition(connection, a_transition(60, at=A_MOMENT), None)
        _expand(store)
        assert len(claim_due(store, take_lease(store), AN_HOUR_LATER)) == 4


def test_notification_that_is_let_go_stays_on_record(url: str, backup: Path) -> None:
    restored(url, backup)

    with open_store(url) as store, store.write() as connection:
        assert discard_held(connection) == 3
        assert count_held(connection) == 0
        notifications = recent_notifications(connection, 10)
    assert {each.state for each in notifications} == {NotificationState.DEAD}
    assert {each.outcome for each in notifications} == {"not sent: discarded after a restore"}


def _expand(store: Store) -> None:
    with store.write() as connection:
        for entry in pending_expansion(connection, 10):
            expand_alone(connection, entry, [ONCALL], AN_HOUR_LATER)


def test_what_was_given_up_is_pending_again_and_tried_as_often_as_new(store: Store) -> None:
    make_pending(store, 2, [ONCALL, DEV])
    token = take_lease(store)
    with store.write() as connection:
        for notification in claim_for_all(connection, token, A_MOMENT, 10):
            mark_dead(connection, notification, "550 by mistake", A_MOMENT)
        one = recent_notifications(connection, 1)[0].notification_id

        both = {DEV.address: 2, ONCALL.address: 2}
        assert count_dead_by_address(connection, A_MOMENT - seconds(1)) == both
        assert count_dead_by_address(connection, A_MOMENT) == both
        assert count_dead_by_address(connection, A_MOMENT + seconds(1)) == {}
        assert len(resend(connection, one, A_MOMENT)) == 1
        assert len(resend(connection, one, A_MOMENT)) == 0
        others = [
            *resend(connection, ONCALL.address, A_MOMENT),
            *resend(connection, DEV.address, A_MOMENT),
        ]
        assert len(others) == 3

    again = claim_due(store, token)
    assert [(each.attempts, each.outcome) for each in again] == [(0, "550 by mistake")] * 4


def test_sending_again_is_taken_back_until_somebody_tries(store: Store) -> None:
    make_pending(store)
    token = take_lease(store)
    with store.write() as connection:
        for notification in claim_for_all(connection, token, A_MOMENT, 10):
            mark_dead(connection, notification, "550 by mistake", A_MOMENT)
        sent = resend(connection, ONCALL.address, A_MOMENT)
        assert stop_sending(connection, sent, A_MOMENT) == len(sent) == 1
        dead = NotificationFilter(state=NotificationState.DEAD)
        assert [each.attempts for each in search_notifications(connection, dead, 10)] == [1]
        sent = resend(connection, ONCALL.address, A_MOMENT)

    assert claim_due(store, token)
    with store.write() as connection:
        assert stop_sending(connection, sent, A_MOMENT) == 0


def test_address_that_is_off_gets_nothing_again_however_it_is_written(store: Store) -> None:
    make_pending(store)
    local, _, domain = ONCALL.address.partition("@")
    written = Recipient(ONCALL.channel, f"On call <{local}@{domain.upper()}>")
    token = take_lease(store)
    with store.write() as connection:
        for notification in claim_for_all(connection, token, A_MOMENT, 10):
            mark_dead(connection, notification, "550 by mistake", A_MOMENT)
        turn_off(connection, AddressOff(written, OffCause.TURNED_OFF, A_MOMENT, "Ann", "on leave"))

        assert resend(connection, ONCALL.address, A_MOMENT) == []
        assert turn_on(connection, written)
        assert len(resend(connection, ONCALL.address, A_MOMENT)) == 1


def test_what_was_sent_is_not_sent_again(store: Store) -> None:
    make_pending(store)
    (notification,) = claim_due(store, take_lease(store))
    with store.write() as connection:
        mark_sent(connection, notification.notification_id, "250", A_MOMENT)

        assert len(resend(connection, notification.notification_id, A_MOMENT)) == 0
        assert len(resend(connection, ONCALL.address, A_MOMENT)) == 0
