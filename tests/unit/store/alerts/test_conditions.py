"""A condition changes once, and a notification of it is pending in the same transaction."""

from __future__ import annotations

from dashboard.domain.alerts.condition import Condition, State, Subject, SubjectKind
from dashboard.store.alerts.conditions import (
    current_state,
    measured_conditions,
    record_inclusion,
    record_rejection,
    record_transition,
)
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_transition, an_id
from tests.saved_record import save_record

SUBJECT = Subject.transaction(A_NETWORK, a_hash())


def test_change_is_kept_with_its_cause_and_pending_in_the_outbox(store: Store) -> None:
    with store.write() as connection:
        rejection_id = save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        assert record_transition(connection, a_transition(), rejection_id)

    with store.read() as connection:
        (entry,) = pending_expansion(connection, 10)
        assert current_state(connection, SUBJECT) is State.REJECTED
    assert entry.transition == a_transition()
    assert entry.change.rejection is not None
    assert entry.change.rejection.record == a_record()


def test_change_from_a_condition_that_is_not_held_is_refused(store: Store) -> None:
    with store.write() as connection:
        assert not record_transition(connection, a_transition(before=State.UNREPORTED), None)
        assert current_state(connection, SUBJECT) is None
        assert pending_expansion(connection, 10) == []


def test_transition_that_is_stored_already_is_not_stored_again(store: Store) -> None:
    back = a_transition(before=State.REJECTED, after=State.UNREPORTED)
    with store.write() as connection:
        record_transition(connection, a_transition(), None)
        assert not record_transition(connection, back, None)
        assert current_state(connection, SUBJECT) is State.REJECTED


def test_conditions_of_one_kind_are_found_by_their_subjects(store: Store) -> None:
    rate = Subject.of_rule(SubjectKind.REJECTION_RATE, "many", "ADD")
    with store.write() as connection:
        for number, subject in enumerate((rate, SUBJECT), 1):
            record_transition(connection, a_transition(number, subject=subject), None)

        found = measured_conditions(connection, [SubjectKind.REJECTION_RATE])

    assert found == {rate: Condition(State.REJECTED, A_MOMENT)}


def test_rejected_transaction_is_found_included_once(store: Store) -> None:
    inclusions = [
        a_transition(
            transition_id=an_id(number),
            subject=Subject(SubjectKind.INCLUSION, A_NETWORK, a_hash(transaction)),
            after=State.INCLUDED,
        )
        for number, transaction in ((7, 1), (8, 1), (9, 2))
    ]
    with store.write() as connection:
        rejection_id = save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        record_transition(connection, a_transition(), rejection_id)
        answers = [record_inclusion(connection, each) for each in inclusions]
        [_, included] = pending_expansion(connection, 10)

    assert answers == [True, False, False]
    assert included.change.rejection is not None
    assert included.change.rejection.record == a_record()


def test_new_version_of_the_same_condition_is_news_once(store: Store) -> None:
    with store.write() as connection:
        first = save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        second = save_record(connection, A_NETWORK, a_record(nonce=6), A_MOMENT)
        answers = [
            record_rejection(connection, version, A_NETWORK, a_hash(), A_MOMENT, an_id(number))
            for number, version in enumerate((first, first, second, second, first), start=1)
        ]
        known, anew = (each.transition for each in pending_expansion(connection, 10))

    assert answers == [True, False, True, False, False]
    assert known == a_transition()
    assert anew == a_transition(transition_id=an_id(3), before=State.REJECTED)
