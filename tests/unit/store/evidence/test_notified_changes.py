"""What the store adds to the changes that a message is about."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.evidence import with_labels, with_previous
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_transition, an_id, seconds
from tests.delivery_checks import tell_rejection


def follow(store: Store, number: int, label: str, attempted_at: datetime | None) -> None:
    """Track the transaction with this number."""
    request = TrackRequest(a_hash(number), (A_NETWORK,), Remarks(attempted_at, label))
    with store.write() as connection:
        assert track(connection, request, A_MOMENT)


def reject(store: Store, version: int, before: State | None = State.REJECTED) -> Transition:
    """Record another version of the rejection of `a_hash()`, with its transition."""
    record = a_record(nonce=version, timestamp=A_MOMENT + seconds(version))
    transition = a_transition(transition_id=UUID(int=version), before=before)
    with store.write() as connection:
        tell_rejection(connection, record, transition)
    return transition


def previous_nonce(store: Store, transition: Transition) -> int | None:
    """Return the nonce of the record before this one: each version here has its own."""
    with store.read() as connection:
        previous = with_previous(connection, NotifiedChange(transition)).previous
    return None if previous is None else previous.record.nonce


def test_changes_get_the_labels_of_their_transactions(store: Store) -> None:
    follow(store, 1, "Case 1742", A_MOMENT)
    follow(store, 2, "", None)
    of_network = a_transition(subject=Subject(SubjectKind.FEES, A_NETWORK))
    causes = [a_transition(3), a_transition(2), a_transition(1), of_network]

    with store.read() as connection:
        found = with_labels(connection, [NotifiedChange(each) for each in causes])

    assert [each.transition for each in found] == causes
    assert [(each.label, each.attempted_at) for each in found] == [
        ("", None),
        ("", None),
        ("Case 1742", A_MOMENT),
        ("", None),
    ]


def test_changed_record_comes_with_the_one_before_it(store: Store) -> None:
    first, second, third = reject(store, 1, None), reject(store, 2), reject(store, 3)

    assert previous_nonce(store, first) is None
    assert previous_nonce(store, second) == 1
    assert previous_nonce(store, third) == 2


def test_record_that_is_not_stored_has_none_before_it(store: Store) -> None:
    assert (
        previous_nonce(store, a_transition(transition_id=an_id(9), before=State.REJECTED)) is None
    )
