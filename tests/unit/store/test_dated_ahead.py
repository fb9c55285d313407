"""What a node claims ahead of our clock is kept as it is and outranks nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.archive import queryable_record
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_report, seconds
from tests.one_by_one import save_report, versions


@pytest.mark.parametrize("ahead", [timedelta(minutes=5, milliseconds=1), timedelta(days=2_900_000)])
def test_version_dated_ahead_of_our_clock_hides_no_later_one(
    store: Store, ahead: timedelta
) -> None:
    with store.write() as connection:
        save_report(connection, a_report(timestamp=A_MOMENT + ahead), A_NETWORK, A_MOMENT)
        alone = queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT)
        later = a_report(reason_message="later", timestamp=A_MOMENT - seconds(60))
        save_report(connection, later, A_NETWORK, A_MOMENT + seconds(60))

    with store.read() as connection:
        shown = queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT + seconds(60))
        kept = versions(connection, a_hash())
    assert alone is not None
    assert alone.timestamp == A_MOMENT + ahead
    assert shown == later.record()
    assert [each.is_dated_ahead for each in kept] == [False, True]


def test_version_dated_ahead_of_our_clock_is_shown_for_seven_days_from_its_arrival(
    store: Store,
) -> None:
    ahead = a_report(timestamp=A_MOMENT + timedelta(days=800))
    with store.write() as connection:
        save_report(connection, ahead, A_NETWORK, A_MOMENT)

    until = A_MOMENT + QUERYABLE_WINDOW
    with store.read() as connection:
        shown = [
            queryable_record(connection, (A_NETWORK,), a_hash(), until + seconds(s)) for s in (0, 1)
        ]
    assert shown == [ahead.record(), None]


def test_clock_that_is_a_few_minutes_ahead_still_ranks_by_its_claim(store: Store) -> None:
    nearly = a_report(timestamp=A_MOMENT + timedelta(minutes=5))
    with store.write() as connection:
        save_report(connection, nearly, A_NETWORK, A_MOMENT)
        save_report(connection, a_report(reason_message="other"), A_NETWORK, A_MOMENT)

    with store.read() as connection:
        assert queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT) == nearly.record()
