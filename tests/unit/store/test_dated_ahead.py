"""What a node claims ahead of our clock, or not at all, is kept as it is and outranks nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW, RejectionStage
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.inclusion import InclusionQuestion
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.verify import verify
from dashboard.store.rejections.archive import queryable_record
from dashboard.store.rejections.counts import Grouping, count_by
from dashboard.store.tracking.follow_ups import inclusion_questions
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_report, an_address, seconds
from tests.one_by_one import save_report, versions
from tests.saved_record import save_record


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


def test_record_that_leaves_something_out_is_kept_so_and_ranks_behind_one_that_does_not(
    store: Store,
) -> None:
    bare = a_record(
        **dict.fromkeys(("sender", "nonce", "timestamp")),
        tx_rejection_stage=RejectionStage.UNKNOWN,
        added='{"a": "\0"}',
    )
    until = A_MOMENT + QUERYABLE_WINDOW
    with store.write() as connection:
        first = save_record(connection, A_NETWORK, bare, A_MOMENT)
        again = save_record(connection, A_NETWORK, bare, A_MOMENT + seconds(1))
        alone = [
            queryable_record(connection, (A_NETWORK,), a_hash(), until + seconds(s)) for s in (0, 1)
        ]
        [kept] = versions(connection, a_hash())
        earlier = a_record(timestamp=A_MOMENT - seconds(60), sender=an_address(2))
        whole = save_record(connection, A_NETWORK, earlier, A_MOMENT + seconds(2))
        covered = save_record(connection, A_NETWORK, bare, A_MOMENT + timedelta(hours=2))

    with store.read() as connection:
        shown = queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT)
        both = versions(connection, a_hash())
        stages = count_by(connection, Grouping.STAGE, RejectionFilter(), None, 9).groups
        asked = inclusion_questions(connection, A_NETWORK, [a_hash()])
        assert list(verify(connection)) == []
    assert (first, kept.record, kept.record.added) == (again, bare, bare.added)
    assert (kept.dated_at, kept.is_dated_ahead) == (A_MOMENT, False)
    assert alone == [bare, None]
    assert shown == earlier
    assert [each.rejection_id for each in both] == [whole, first]
    assert (covered, both[0].seen_again_at) == (whole, A_MOMENT + timedelta(hours=2))
    assert {each.key: each.count for each in stages} == {"RPC": 1, "unknown": 1}
    assert asked == [InclusionQuestion(a_hash(), an_address(2), 5)]


def test_clock_that_is_a_few_minutes_ahead_still_ranks_by_its_claim(store: Store) -> None:
    nearly = a_report(timestamp=A_MOMENT + timedelta(minutes=5))
    with store.write() as connection:
        save_report(connection, nearly, A_NETWORK, A_MOMENT)
        save_report(connection, a_report(reason_message="other"), A_NETWORK, A_MOMENT)

    with store.read() as connection:
        assert queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT) == nearly.record()
