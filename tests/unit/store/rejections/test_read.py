"""Every version of a record is kept once, and the right one is shown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import (
    QUERYABLE_WINDOW,
    ModuleOverflow,
    RejectionSource,
    RejectionStage,
    SaveStatus,
)
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.archive import queryable_record
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_report,
    seconds,
)
from tests.one_by_one import save_report, versions
from tests.saved_record import save_record

SEQUENCER = RejectionStage.SEQUENCER


def test_report_is_shown_as_it_was_sent(store: Store) -> None:
    report = a_report(tx_rejection_stage=SEQUENCER, block_number=12)
    with store.write() as connection:
        assert save_report(connection, report, A_NETWORK, A_MOMENT) is SaveStatus.SAVED

    with store.read() as connection:
        assert queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT) == report.record()


def test_report_with_the_same_reason_is_a_duplicate_and_changes_nothing(store: Store) -> None:
    again = a_report(tx_rejection_stage=SEQUENCER, block_number=9, timestamp=A_MOMENT + seconds(60))
    with store.write() as connection:
        save_report(connection, a_report(), A_NETWORK, A_MOMENT)
        assert save_report(connection, again, A_NETWORK, A_MOMENT) is SaveStatus.DUPLICATE

    with store.read() as connection:
        assert [each.record for each in versions(connection, a_hash())] == [a_record()]


@pytest.mark.parametrize(
    ("reason", "network_id"), [("another", A_NETWORK), (a_report().reason_message, ANOTHER_NETWORK)]
)
def test_report_with_another_reason_or_of_another_network_is_another_version(
    store: Store, reason: str, network_id: NetworkId
) -> None:
    other = a_report(reason_message=reason)
    with store.write() as connection:
        save_report(connection, a_report(), A_NETWORK, A_MOMENT)
        assert save_report(connection, other, network_id, A_MOMENT) is SaveStatus.SAVED

    with store.read() as connection:
        assert len(versions(connection, a_hash())) == 2


def test_version_that_was_polled_first_becomes_a_report_when_it_is_reported(store: Store) -> None:
    overflow = ModuleOverflow("ADD", 600_000, 524_288)
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        report = a_report(overflows=(overflow,))
        assert save_report(connection, report, A_NETWORK, A_MOMENT + seconds(1)) == "SAVED"
        assert save_report(connection, report, A_NETWORK, A_MOMENT) is SaveStatus.DUPLICATE
        (stored,) = versions(connection, a_hash())

    assert stored.first_seen_at == A_MOMENT
    assert stored.reported_at == A_MOMENT + seconds(1)
    assert stored.overflows == (overflow,)


def test_report_repeated_as_a_polled_version_stays_a_duplicate(store: Store) -> None:
    later = a_record(timestamp=A_MOMENT + seconds(60))
    with store.write() as connection:
        save_report(connection, a_report(), A_NETWORK, A_MOMENT)
        save_record(connection, A_NETWORK, later, A_MOMENT)
        status = save_report(connection, a_report(timestamp=later.timestamp), A_NETWORK, A_MOMENT)

    assert status is SaveStatus.DUPLICATE


def test_polled_version_of_a_report_is_that_report(store: Store) -> None:
    # Our own serve hides the block number of a stage that has none.
    with store.write() as connection:
        save_report(connection, a_report(block_number=7), A_NETWORK, A_MOMENT)
        rejection_id = save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        (stored,) = versions(connection, a_hash())

    assert stored.rejection_id == rejection_id


def test_polled_record_that_changed_is_a_new_version(store: Store) -> None:
    records = (
        a_record(),
        a_record(tx_rejection_stage=RejectionStage.P2P),
        a_record(reason_message="another"),
        a_record(timestamp=A_MOMENT + seconds(1)),
        a_record(tx_rejection_stage=SEQUENCER, block_number=3),
        a_record(nonce=6),
    )
    with store.write() as connection:
        saved = [save_record(connection, A_NETWORK, each, A_MOMENT) for each in records]

    assert len(set(saved)) == len(records)


def test_visible_record_is_the_one_with_the_newest_claimed_time(store: Store) -> None:
    late, early = A_MOMENT, A_MOMENT - seconds(60)
    with store.write() as connection:
        save_report(connection, a_report(reason_message="new", timestamp=late), A_NETWORK, late)
        save_report(connection, a_report(reason_message="old", timestamp=early), A_NETWORK, late)
        seen = queryable_record(connection, (A_NETWORK,), a_hash(), late)

    assert seen is not None
    assert seen.reason_message == "new"


@pytest.mark.parametrize(
    ("age", "is_seen"),
    [(QUERYABLE_WINDOW, True), (QUERYABLE_WINDOW + timedelta(milliseconds=1), False)],
)
def test_record_is_visible_for_seven_days_inclusive(
    store: Store, age: timedelta, is_seen: object
) -> None:
    with store.write() as connection:
        save_report(connection, a_report(), A_NETWORK, A_MOMENT)
        seen = queryable_record(connection, (A_NETWORK,), a_hash(), A_MOMENT + age)

    assert (seen is not None) is is_seen


def test_visible_record_is_looked_for_on_the_networks_asked_for_only(store: Store) -> None:
    with store.write() as connection:
        save_report(connection, a_report(), A_NETWORK, A_MOMENT)

    with store.read() as connection:
        assert queryable_record(connection, (ANOTHER_NETWORK,), a_hash(), A_MOMENT) is None
        assert queryable_record(connection, (), a_hash(), A_MOMENT) is None
        assert (
            queryable_record(connection, (ANOTHER_NETWORK, A_NETWORK), a_hash(), A_MOMENT)
            is not None
        )


def test_hostile_reason_and_largest_nonce_are_kept_exactly(store: Store) -> None:
    reason = "\0<script>\u202e'; DROP TABLE rejections;--\\u0000\n" + "é" * 900
    with store.write() as connection:
        report = a_report(reason_message=reason, nonce=2**64 - 2)
        save_report(connection, report, A_NETWORK, A_MOMENT)
        (stored,) = versions(connection, a_hash())

    assert stored.record == report.record()


@pytest.mark.parametrize(
    ("polls", "last_seen"),
    [
        ((0,), 0),
        ((0, 3599), 0),
        ((0, 3600), 3600),
        ((0, 3600, 7199), 3600),
        ((0, 3600, 7200), 7200),
        ((0, -86400), 0),
    ],
)
def test_version_that_upstream_shows_again_is_seen_again_to_the_hour(
    store: Store, polls: tuple[int, ...], last_seen: int
) -> None:
    with store.write() as connection:
        for poll in polls:
            save_record(connection, A_NETWORK, a_record(), A_MOMENT + seconds(poll))

    with store.read() as connection:
        [stored] = versions(connection, a_hash())
    assert stored.first_seen_at == A_MOMENT
    assert stored.last_seen_at == A_MOMENT + seconds(last_seen)


def test_version_knows_how_it_came_here_first(store: Store) -> None:
    made_up = RejectionSource.DEMO_HISTORY
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        save_report(connection, a_report(), A_NETWORK, A_MOMENT + seconds(1))
        save_report(connection, a_report(tx_hash=a_hash(2)), A_NETWORK, A_MOMENT)
        save_report(connection, a_report(tx_hash=a_hash(3)), A_NETWORK, A_MOMENT, made_up)

    with store.read() as connection:
        sources = [versions(connection, a_hash(number))[0].source for number in (1, 2, 3)]
    assert sources == [RejectionSource.POLLED, RejectionSource.REPORTED, made_up]
