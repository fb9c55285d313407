"""What was told and what was answered is forgotten in its time; what somebody needs stays."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy import update

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.health.observation import ExclusionAnswer, Spent
from dashboard.domain.people.access import Action, Actor, KeyLimits
from dashboard.domain.tracking.inclusion import InclusionAnswer, InclusionQuestion
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.access.api_keys import Credential, KeyUse, add_uses, create_key, key_uses
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.monitoring.coverage import gaps, save_coverage
from dashboard.store.monitoring.upkeep import record_credits, spent_since
from dashboard.store.schema import notifications
from dashboard.store.tracking.follow_ups import record_inclusion_answers
from dashboard.store.tracking.saved import save_lookup, saved_lookup
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    DAY,
    HOUR,
    a_hash,
    a_record,
    a_transition,
    an_id,
    seconds,
)
from tests.one_by_one import audited, read_evidence, versions
from tests.saved_record import save_record
from tests.unit.store.old_rows import forget, hand_over, on_record, reject, rows_of


def test_notifications_go_with_their_change_and_their_deliveries(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    reject(store, 2, A_MOMENT)

    assert forget(store, notifications=A_MOMENT) == {"notifications": 1}

    tables = ("notifications", "deliveries", "outbox", "transitions", "rejections", "conditions")
    assert [rows_of(store, table) for table in tables] == [1, 1, 1, 1, 2, 2]


def test_version_whose_notification_was_forgotten_is_not_told_again(store: Store) -> None:
    rejection_id = reject(store, 1, A_MOMENT - DAY)
    forget(store, notifications=A_MOMENT)

    with store.write() as connection:
        again = a_transition(transition_id=an_id(9), before=State.REJECTED)
        assert not record_transition(connection, again, rejection_id)


def test_notification_that_somebody_needs_stays(store: Store) -> None:
    old = A_MOMENT - DAY
    reject(store, 1, old, is_told=False)
    reject(store, 2, old)
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,)), old)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), old)
        [third] = versions(connection, a_hash(3))
        record_transition(connection, a_transition(3, at=old), third.rejection_id)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), A_MOMENT)
        hand_over(connection, old)

    assert forget(store, 1, notifications=A_MOMENT) == {}
    assert rows_of(store, "notifications") == 3


@pytest.mark.parametrize(("is_over", "kept"), [(False, 1), (True, 0)])
def test_notifications_of_a_network_go_when_the_incident_is_over(
    store: Store, *, is_over: bool, kept: int
) -> None:
    subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    old = A_MOMENT - DAY
    with store.write() as connection:
        record_transition(connection, Transition(an_id(1), subject, None, State.BUSY, old), None)
        if is_over:
            record_transition(
                connection, Transition(an_id(2), subject, State.BUSY, State.CALM, old), None
            )
        hand_over(connection, old)

    forget(store, notifications=A_MOMENT)

    assert rows_of(store, "transitions") == kept


def test_answers_about_what_nobody_tracks_are_forgotten(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(1), (A_NETWORK,)), A_MOMENT - DAY)
        for at, numbers in ((A_MOMENT - DAY, (1, 2, 3)), (A_MOMENT, (4,))):
            answers = [ExclusionAnswer(a_hash(number)) for number in numbers]
            record_lookup(connection, A_NETWORK, at, answers)

    assert forget(store, 1, untracked_answers=A_MOMENT) == {"answers": 2}

    with store.read() as connection:
        [first] = read_evidence(connection, A_NETWORK, a_hash(1))
        assert [bool(read_evidence(connection, None, a_hash(each))) for each in (2, 3, 4)] == [
            *(False, False, True),
        ]
    assert first.last_answered_at == A_MOMENT - DAY


def test_ends_of_what_nobody_tracks_are_forgotten_unless_rejected(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,)), A_MOMENT - DAY)
        answers = [
            (InclusionQuestion(a_hash(number)), InclusionAnswer(a_hash(number)))
            for number in (1, 2, 3)
        ]
        record_inclusion_answers(connection, A_NETWORK, A_MOMENT - DAY, answers)

    assert forget(store, untracked_answers=A_MOMENT) == {"follow-ups": 1}

    assert rows_of(store, "follow_ups") == 2


def test_counts_of_keys_that_are_gone_are_forgotten(store: Store) -> None:
    long_ago = A_MOMENT - 401 * DAY
    made = Credential(b"a" * 32, b"s" * 32, long_ago)
    uses = {
        b"a" * 32: KeyUse(long_ago, 1, 0),
        b"b" * 32: KeyUse(long_ago, 2, 0),
        b"c" * 32: KeyUse(A_MOMENT, 3, 0),
    }
    with store.write() as connection:
        create_key(connection, "mine", KeyLimits(), made)
        add_uses(connection, uses)

    assert forget(store, untracked_answers=A_MOMENT) == {"uses of keys": 1}

    with store.read() as connection:
        assert {use.calls for use in key_uses(connection).values()} == {1, 3}


def test_audit_log_is_forgotten_only_when_told_to(store: Store) -> None:
    with store.write() as connection:
        for number in range(-3, 2):
            at = A_MOMENT + seconds(number)
            note_action(connection, Actor("ann", at), Action.TRACK, str(number))

    assert forget(store) == {}
    assert forget(store, 2, audit_log=A_MOMENT) == {"audit log": 3}

    kept = audited(store)
    assert sorted(entry.subject for entry in kept) == ["0", "1", "audit log"]


def test_credits_are_forgotten_hour_by_hour(store: Store) -> None:
    spent = {"suggestedGasFees": Spent(2, 160), "getTransactionExclusionStatusV1": Spent(1, 80)}
    with store.write() as connection:
        for hours in (-3, -2, 0):
            record_credits(connection, A_NETWORK, A_MOMENT + hours * HOUR, spent)

    assert forget(store, 3, credits=A_MOMENT) == {"credits": 4}

    with store.read() as connection:
        kept = spent_since(connection, A_MOMENT - DAY)
    assert [each.spent for each in kept] == [Spent(2, 160), Spent(1, 80)]
    assert rows_of(store, "credit_ledger") == 2


def test_saved_lookups_are_forgotten_when_nobody_repeats_them(store: Store) -> None:
    with store.write() as connection:
        for number in range(4):
            save_lookup(connection, [a_hash(number)], A_MOMENT - DAY)
        kept = save_lookup(connection, [a_hash(0)], A_MOMENT)

    assert forget(store, 2, saved_lookups=A_MOMENT) == {"saved look-ups": 3}

    with store.read() as connection:
        assert saved_lookup(connection, kept) == (a_hash(0),)
    assert rows_of(store, "saved_lookups") == 1


def test_lookups_that_were_used_longest_ago_make_room_for_a_new_one(store: Store) -> None:
    large = [[a_hash(1_000 * number + each) for each in range(200)] for number in range(3)]
    most = 3 * 200 * 32
    with store.write() as connection:
        first, second, third = (
            save_lookup(connection, each, A_MOMENT + number * HOUR, most)
            for number, each in enumerate(large)
        )
        assert save_lookup(connection, large[0], A_MOMENT + DAY, most) == first
        small = save_lookup(connection, [a_hash()], A_MOMENT + DAY, most)
        found = [saved_lookup(connection, each) for each in (first, second, third, small)]

    assert found == [tuple(large[0]), None, tuple(large[2]), (a_hash(),)]


def test_newest_lookup_stays_whatever_it_takes(store: Store) -> None:
    with store.write() as connection:
        save_lookup(connection, [a_hash(1)], A_MOMENT + DAY, 1)
        newest = save_lookup(connection, [a_hash(2)], A_MOMENT, 1)

        assert saved_lookup(connection, newest) == (a_hash(2),)
    assert rows_of(store, "saved_lookups") == 1


def test_gaps_are_forgotten_once_they_are_long_over(store: Store) -> None:
    over = [a_gap(number, A_MOMENT - number * HOUR) for number in (1, 2, 3)]
    lasting, ended_late = a_gap(4, None), a_gap(5, A_MOMENT)
    held = Covered(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT, lasting)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, (*over, ended_late)))

    assert forget(store, 2, coverage_gaps=A_MOMENT) == {"coverage gaps": 3}

    with store.read() as connection:
        assert gaps(connection, [A_NETWORK]) == [lasting, ended_late]


def a_gap(hours: int, ends_at: datetime | None) -> Gap:
    """Return a gap that began some hours before the others, and a day ago."""
    begins_at = A_MOMENT - DAY - hours * HOUR
    return Gap(A_NETWORK, Watched.FEES, begins_at, ends_at, GapCause.NOT_WATCHED)


def test_notification_that_waits_after_a_restore_stays_with_its_rejection(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY, is_told=False)
    with store.write() as connection:
        connection.execute(update(notifications).values(state=NotificationState.HELD))

    assert forget(store, notifications=A_MOMENT, rejections=A_MOMENT) == {}

    assert (rows_of(store, "notifications"), on_record(store, 1)) == (1, [1])


def test_link_that_was_cut_or_changed_leads_to_nothing(store: Store) -> None:
    with store.read() as connection:
        for text in ("", "a\0b", "0" * 31, "0" * 33):
            assert saved_lookup(connection, text) is None, text
