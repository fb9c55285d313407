"""Fees and rejections are forgotten in time with all that hangs on them."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from dashboard.domain.alerts.condition import Subject
from dashboard.domain.fees.gas import RollupLevel
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import current_state, record_transition
from dashboard.store.engine.batching import LONGEST_STEP, AdaptiveBatches, next_rows
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.purge import apply_retention
from dashboard.store.rejections.archive import queryable_record
from dashboard.store.rejections.counts import count_rejections
from dashboard.store.rejections.known_hashes import (
    KnownHashes,
    RejectionReader,
    head_of,
    load_heads,
)
from dashboard.store.schema import fee_rollups
from dashboard.store.schema.columns import milliseconds_of, moment_of
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    DAY,
    a_hash,
    a_record,
    a_report,
    a_transition,
    an_id,
    seconds,
)
from tests.one_by_one import base_fees, recent_notifications, save_report, versions
from tests.saved_record import save_record
from tests.unit.store.old_rows import a_roll_up, forget, on_record, reject, rows_of, see_fees


def test_fees_are_forgotten_and_nothing_else(store: Store) -> None:
    see_fees(store, *(A_MOMENT + seconds(60 * number) for number in range(-5, 5)))
    rolled_up = rows_of(store, "fee_rollups")

    assert forget(store, 2, fees=A_MOMENT) == {"fees": 20}

    with store.read() as connection:
        kept = base_fees(connection, A_NETWORK, A_MOMENT - DAY, A_MOMENT + DAY)
    assert [moment_of(each.at) for each in kept] == [
        A_MOMENT + seconds(60 * each) for each in range(5)
    ]
    assert rows_of(store, "fee_rollups") == rolled_up
    assert forget(store, fees=A_MOMENT) == {}


def test_minutes_are_forgotten_while_hours_and_days_stay(store: Store) -> None:
    rows = [
        a_roll_up(level, milliseconds_of(at))
        for at in (A_MOMENT - seconds(3600), A_MOMENT - seconds(60), A_MOMENT)
        for level in RollupLevel
    ]
    with store.write() as connection:
        connection.execute(fee_rollups.insert(), rows)

    assert forget(store, 1, fee_minutes=A_MOMENT) == {"fee minutes": 2}

    with store.read() as connection:
        levels = select(fee_rollups.c.level, func.count()).group_by(fee_rollups.c.level)
        kept = [tuple(row) for row in connection.execute(levels.order_by("level"))]
    assert kept == [(1, 1), (2, 3), (3, 3)]


def test_rejection_goes_with_all_that_rests_on_it(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    reject(store, 2, A_MOMENT)

    assert forget(store, rejections=A_MOMENT) == {"rejections": 1}

    assert on_record(store, 1, 2) == [2]
    assert rows_of(store, "signed_transactions") == 1
    with store.read() as connection:
        assert count_rejections(connection, RejectionFilter()) == 1
        assert queryable_record(connection, [A_NETWORK], a_hash(1), A_MOMENT) is None
        assert current_state(connection, Subject.transaction(A_NETWORK, a_hash(1))) is None
        notifications = recent_notifications(connection, 10)
    assert [notification.rejection is None for notification in notifications] == [False, True]


def test_signed_transaction_stays_with_another_version(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    with store.write() as connection:
        other = a_report(tx_hash=a_hash(1), reason_message="another")
        save_report(connection, other, A_NETWORK, A_MOMENT)

    assert forget(store, rejections=A_MOMENT) == {"rejections": 1}

    assert (on_record(store, 1), rows_of(store, "signed_transactions")) == ([1], 1)


def test_rejection_that_somebody_needs_stays(store: Store) -> None:
    old = A_MOMENT - DAY
    reject(store, 1, old, is_told=False)
    with store.write() as connection:
        save_report(connection, a_report(tx_hash=a_hash(2)), A_NETWORK, old)
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,)), old)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), old)
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), A_MOMENT)
        save_report(connection, a_report(tx_hash=a_hash(4)), A_NETWORK, old)
        [fourth] = versions(connection, a_hash(4))
        record_transition(connection, a_transition(4), fourth.rejection_id)

    assert forget(store, 1, rejections=A_MOMENT) == {}
    assert on_record(store, 1, 2, 3, 4) == [1, 2, 3, 4]


def test_rejection_of_what_is_tracked_stays_whatever_network_it_is_of(store: Store) -> None:
    with store.write() as connection:
        for number in (1, 2):
            record = a_record(tx_hash=a_hash(number))
            save_record(connection, ANOTHER_NETWORK, record, A_MOMENT - DAY)
        track(connection, TrackRequest(a_hash(1), (A_NETWORK,)), A_MOMENT)

    assert forget(store, rejections=A_MOMENT) == {"rejections": 1}
    assert on_record(store, 1, 2) == [1]


def test_rejection_that_is_seen_again_while_others_are_forgotten_stays(store: Store) -> None:
    for number in (1, 2):
        reject(store, number, A_MOMENT - DAY)

    steps = apply_retention(store, {"rejections": A_MOMENT}, AdaptiveBatches(lambda: 0.0, 1))
    next(steps)
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(2)), A_MOMENT)
    list(steps)

    assert on_record(store, 1, 2) == [2]


def test_serve_answers_null_of_a_rejection_that_was_forgotten(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    known = KnownHashes(RejectionReader(store))
    known.adopt(load_heads(store))

    forget(store, rejections=A_MOMENT)

    reader = RejectionReader(store)
    assert known.is_current()
    assert known.among([head_of(a_hash(1))])  # asked for, not answered for
    assert reader.queryable_record([A_NETWORK], a_hash(1), A_MOMENT) is None


def test_rejection_that_comes_again_is_told_again(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    forget(store, rejections=A_MOMENT)

    with store.write() as connection:
        again = save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        assert record_transition(connection, a_transition(transition_id=an_id(9)), again)


@pytest.mark.parametrize(
    ("rows", "took", "then"),
    [
        (100, LONGEST_STEP * 1.1, 50),
        (100, LONGEST_STEP, 100),
        (100, LONGEST_STEP / 2, 100),
        (100, LONGEST_STEP / 4, 150),
        (100, LONGEST_STEP * 4, 25),
        (30, 1.0, 5),
        (1900, 0.0, 2000),
    ],
)
def test_step_takes_as_many_rows_as_time_allows(rows: int, took: float, then: int) -> None:
    assert next_rows(rows, took) == then
