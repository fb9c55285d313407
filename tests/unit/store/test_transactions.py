"""Tracking a hash is a wish that can be repeated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from dashboard.domain.condition import State
from dashboard.domain.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.store.answers import record_answers
from dashboard.store.conditions import change
from dashboard.store.engine import Store
from dashboard.store.transactions import (
    TrackedTransaction,
    TrackRequest,
    Watch,
    is_tracked,
    track,
    tracked,
    watches,
)
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_transition,
    seconds,
)

LATER = A_MOMENT + seconds(60)


def a_wish(number: int = 1, **changes: Any) -> TrackRequest:  # noqa: ANN401 - any field
    """Return the wish to watch a hash on one network."""
    fields: dict[str, Any] = {
        "tx_hash": a_hash(number),
        "network_ids": (A_NETWORK,),
        "attempted_at": None,
        "label": "",
    }
    return TrackRequest(**(fields | changes))


def wish(store: Store, request: TrackRequest, now: datetime = A_MOMENT) -> bool:
    """Track, in a transaction of its own."""
    with store.write() as connection:
        return track(connection, request, now)


def the_tracked(store: Store) -> TrackedTransaction:
    """Return the one transaction that is tracked."""
    with store.read() as connection:
        (found,) = tracked(connection, 10)
    return found


def test_tracked_hash_is_known_with_what_people_said_of_it(store: Store) -> None:
    networks = (ANOTHER_NETWORK, A_NETWORK)
    request = a_wish(
        network_ids=networks, attempted_at=A_MOMENT, label="payout\0", note="C:\\u0041"
    )
    wish(store, request, LATER)

    assert the_tracked(store) == TrackedTransaction(
        a_hash(), networks, LATER, A_MOMENT, "payout\0", "C:\\u0041"
    )


def test_hash_is_new_the_first_time_only(store: Store) -> None:
    assert [wish(store, a_wish()), wish(store, a_wish(), LATER)] == [True, False]
    assert the_tracked(store).tracked_at == A_MOMENT


def test_further_network_of_a_tracked_hash_is_new(store: Store) -> None:
    wish(store, a_wish())

    assert wish(store, a_wish(network_ids=(A_NETWORK, ANOTHER_NETWORK)))
    assert the_tracked(store).network_ids == (A_NETWORK, ANOTHER_NETWORK)


def test_wish_repeated_fills_in_what_was_unknown(store: Store) -> None:
    wish(store, a_wish(note="first"))
    wish(store, a_wish(attempted_at=A_MOMENT, label="back\\slash", note="second"))

    found = the_tracked(store)
    assert (found.attempted_at, found.label, found.note) == (A_MOMENT, "back\\slash", "first")


def test_wish_repeated_changes_nothing_that_was_known(store: Store) -> None:
    wish(store, a_wish(attempted_at=A_MOMENT, label="mine"))
    wish(store, a_wish(attempted_at=LATER, label="yours"))

    found = the_tracked(store)
    assert (found.attempted_at, found.label) == (A_MOMENT, "mine")


def test_hash_is_tracked_once_somebody_wished_it(store: Store) -> None:
    wish(store, a_wish(1))

    with store.read() as connection:
        assert is_tracked(connection, a_hash(1))
        assert not is_tracked(connection, a_hash(2))


def test_tracked_hashes_come_latest_first_and_limited(store: Store) -> None:
    for number in (1, 2, 3):
        wish(store, a_wish(number), A_MOMENT + seconds(number))

    with store.read() as connection:
        assert [each.tx_hash for each in tracked(connection, 2)] == [a_hash(3), a_hash(2)]


def test_watches_are_read_on_from_the_last_one_known(store: Store) -> None:
    wish(store, a_wish(1))
    wish(store, a_wish(2, network_ids=(A_NETWORK, ANOTHER_NETWORK)))

    with store.read() as connection:
        everything = watches(connection, 0)
        rest = watches(connection, everything[0].watch_id)

    assert rest == everything[1:]
    assert [(each.tx_hash, each.network_id) for each in rest] == [
        (a_hash(2), A_NETWORK),
        (a_hash(2), ANOTHER_NETWORK),
    ]


def test_watch_that_was_never_asked_about_says_so(store: Store) -> None:
    wish(store, a_wish(attempted_at=A_MOMENT), LATER)

    with store.read() as connection:
        (watch,) = watches(connection, 0)

    assert watch == Watch(
        watch.watch_id,
        A_NETWORK,
        a_hash(),
        LATER,
        A_MOMENT,
        last_asked_at=None,
        failing_since=None,
        state=None,
    )


@pytest.mark.parametrize("state", list(State))
def test_watch_tells_when_it_was_asked_about_and_what_is_held(store: Store, state: State) -> None:
    wish(store, a_wish(network_ids=(A_NETWORK, ANOTHER_NETWORK)))
    with store.write() as connection:
        record_answers(connection, A_NETWORK, LATER, [ExclusionAnswer(a_hash())])
        change(connection, a_transition(after=state), None)
        here, elsewhere = watches(connection, 0)

    assert (here.last_asked_at, here.state) == (LATER, state)
    assert (elsewhere.last_asked_at, elsewhere.state) == (None, None)


def test_watch_tells_since_when_it_gets_no_answer_until_it_gets_one(store: Store) -> None:
    silence = ExclusionAnswer(a_hash(), failure=Failure(FailureKind.UNAVAILABLE, "no answer"))
    wish(store, a_wish())
    since = []
    for second, answer in enumerate((silence, silence, ExclusionAnswer(a_hash()))):
        with store.write() as connection:
            record_answers(connection, A_NETWORK, A_MOMENT + seconds(second), [answer])
            since += [watch.failing_since for watch in watches(connection, 0)]

    assert since == [A_MOMENT, A_MOMENT, None]
