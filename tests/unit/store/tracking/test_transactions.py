"""Tracking a hash is a wish that can be repeated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import TrackResult
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import TrackedTransaction, track, track_all
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, seconds
from tests.one_by_one import newest_tracked

LATER = A_MOMENT + seconds(60)


def a_wish(
    number: int = 1,
    network_ids: tuple[NetworkId, ...] = (A_NETWORK,),
    **said: Any,  # noqa: ANN401 - any field of remarks
) -> TrackRequest:
    """Return the wish to watch a hash on one network."""
    return TrackRequest(a_hash(number), network_ids, Remarks(**said))


def wish(store: Store, request: TrackRequest, now: datetime = A_MOMENT) -> bool:
    """Track, in a transaction of its own."""
    with store.write() as connection:
        return track(connection, request, now)


def the_tracked(store: Store) -> TrackedTransaction:
    """Return the one transaction that is tracked."""
    with store.read() as connection:
        (found,) = newest_tracked(connection, 10)
    return found


def test_tracked_hash_is_known_with_what_people_said_of_it(store: Store) -> None:
    networks = (ANOTHER_NETWORK, A_NETWORK)
    request = a_wish(
        network_ids=networks, attempted_at=A_MOMENT, label="payout\0", note="C:\\u0041"
    )
    wish(store, request, LATER)

    assert the_tracked(store) == TrackedTransaction(
        a_hash(), networks, LATER, Remarks(A_MOMENT, "payout\0", "C:\\u0041")
    )


def test_hash_is_new_the_first_time_only(store: Store) -> None:
    assert [wish(store, a_wish()), wish(store, a_wish(), LATER)] == [True, False]
    assert the_tracked(store).tracked_at == A_MOMENT


def test_wish_repeated_fills_in_what_was_unknown(store: Store) -> None:
    wish(store, a_wish(note="first"))
    wish(store, a_wish(attempted_at=A_MOMENT, label="back\\slash", note="second"))

    assert the_tracked(store).remarks == Remarks(A_MOMENT, "back\\slash", "first")


def test_each_of_many_wishes_is_told_what_became_of_it(store: Store) -> None:
    wish(store, a_wish(1))
    wishes = [
        a_wish(3),
        a_wish(1),
        a_wish(1, label="Case 1"),
        a_wish(1, network_ids=(ANOTHER_NETWORK,)),
        a_wish(2, attempted_at=A_MOMENT),
        a_wish(2, attempted_at=LATER),
        a_wish(3, attempted_at=A_MOMENT),
    ]

    with store.write() as connection:
        became = track_all(connection, wishes, LATER)
        again = track_all(connection, wishes, LATER)

    new, filled_in, known = TrackResult.NEW, TrackResult.FILLED_IN, TrackResult.KNOWN
    assert became == [new, known, filled_in, new, new, known, filled_in]
    assert again == [known] * len(wishes)


def test_many_are_listed_as_if_they_had_come_one_by_one(store: Store) -> None:
    wishes = [
        a_wish(number, attempted_at=A_MOMENT - seconds(number**3), label=f"Case {number % 3}")
        for number in range(1, 51)
    ]

    with store.write() as connection:
        track_all(connection, wishes, LATER)
        listed = newest_tracked(connection, 100)

    assert sorted(each.tx_hash for each in listed) == [each.tx_hash for each in wishes]
    assert {each.tx_hash: each.remarks for each in listed} == {
        each.tx_hash: each.remarks for each in wishes
    }
    assert {each.tracked_at for each in listed} == {LATER}


def test_more_than_one_statement_can_name_are_tracked(store: Store) -> None:
    wishes = [a_wish(number) for number in range(1, 2102)]

    with store.write() as connection:
        track_all(connection, wishes, A_MOMENT)
        assert set(track_all(connection, wishes, LATER)) == {TrackResult.KNOWN}
        assert len(newest_tracked(connection, 10_000)) == 2101
