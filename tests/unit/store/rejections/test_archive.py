"""The archive is read page by page, in the order of arrival, without a hole or a double."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.archive import (
    PageRequest,
    all_arrivals,
    archive_page,
    archived_versions,
)
from dashboard.store.rejections.counts import GroupCount, GroupCounts, Grouping, count_by
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_report,
    an_address,
    seconds,
)
from tests.one_by_one import save_report
from tests.saved_record import save_record

BOTH = frozenset({A_NETWORK, ANOTHER_NETWORK})
REASONS = (
    "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)",
    "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)",
    "Ünknown 100% REASON",
    "gas price too low",
)


def some_record(number: int) -> RejectedTransaction:
    """Return one of many records that share what can be shared."""
    return a_record(
        tx_hash=a_hash(number),
        sender=an_address(number % 3),
        tx_rejection_stage=list(RejectionStage)[number % 3],
        reason_message=REASONS[number % 4],
        timestamp=A_MOMENT - seconds(number * 7 % 11),
    )


@pytest.fixture
def store(store: Store) -> Store:
    """Hold thirty rejections of two networks; every fifth arrived by a clock that was behind."""
    with store.write() as connection:
        for number in range(1, 31):
            network_id = ANOTHER_NETWORK if number % 4 == 0 else A_NETWORK
            at = A_MOMENT + seconds(number - (5 if number % 5 == 0 else 0))
            save_record(connection, network_id, some_record(number), at)
    return store


def places(connection: Connection, wanted: RejectionFilter, part: PageRequest) -> list[int]:
    return [each.rejection.rejection_id for each in archive_page(connection, wanted, BOTH, part)]


def pages(
    connection: Connection, wanted: RejectionFilter, *, is_newest_first: bool
) -> Iterator[int]:
    """Read everything that fits, two at a time."""
    after: int | None = None
    while found := places(connection, wanted, PageRequest(2, after, is_newest_first)):
        yield from found
        after = found[-1]


def test_pages_follow_the_order_of_arrival_whatever_the_clocks_said(store: Store) -> None:
    with store.read() as connection:
        assert [*pages(connection, RejectionFilter(), is_newest_first=False)] == [*range(1, 31)]
        assert [*pages(connection, RejectionFilter(), is_newest_first=True)] == [*range(30, 0, -1)]


def test_arrival_between_two_pages_shifts_nothing(store: Store) -> None:
    with store.read() as connection:
        first = places(connection, RejectionFilter(), PageRequest(3))
    with store.write() as connection:
        save_record(connection, A_NETWORK, some_record(99), A_MOMENT)
    with store.read() as connection:
        second = places(connection, RejectionFilter(), PageRequest(3, first[-1]))

    assert first + second == [30, 29, 28, 27, 26, 25]


wanted_filters = st.builds(
    RejectionFilter,
    network_id=st.sampled_from([None, A_NETWORK, ANOTHER_NETWORK]),
    tx_rejection_stage=st.sampled_from([None, *RejectionStage]),
    module=st.sampled_from([None, "", "HUB", "ADD", "NONE"]),
    reason_kind=st.sampled_from([None, *ReasonKind]),
    sender=st.sampled_from([None, an_address(0), an_address(1)]),
    tx_hashes=st.sampled_from([None, HashRange(a_hash(5), a_hash(20))]),
    since=st.sampled_from([None, A_MOMENT + seconds(9)]),
    until=st.sampled_from([None, A_MOMENT + seconds(20)]),
    claimed_since=st.sampled_from([None, A_MOMENT - seconds(8)]),
    claimed_until=st.sampled_from([None, A_MOMENT - seconds(2)]),
    text=st.sampled_from(["", "%", "reason", "ÜNKNOWN", "ünknown", "Ünknown", "_"]),
)


@given(wanted=wanted_filters, is_newest_first=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_pages_hold_exactly_what_fits(
    store: Store, wanted: RejectionFilter, *, is_newest_first: bool
) -> None:
    with store.read() as connection:
        fitting = [
            each.rejection.rejection_id
            for each in all_arrivals(connection, 0, 100)
            if wanted.fits(each.rejection)
        ]
        found = [*pages(connection, wanted, is_newest_first=is_newest_first)]

    assert found == sorted(fitting, reverse=is_newest_first)


def test_networks_that_may_not_be_seen_are_neither_listed_nor_counted(store: Store) -> None:
    only = frozenset({ANOTHER_NETWORK})
    with store.read() as connection:
        listed = archive_page(connection, RejectionFilter(), only, PageRequest(100))
        sent = archive_page(
            connection, RejectionFilter(sender=an_address(1)), only, PageRequest(100)
        )
        asked = archive_page(
            connection, RejectionFilter(network_id=A_NETWORK), only, PageRequest(100)
        )
        counted = count_by(connection, Grouping.NETWORK, RejectionFilter(), only, 10)
        nothing = archive_page(
            connection, RejectionFilter(module="HUB"), frozenset(), PageRequest(100)
        )

    assert {each.rejection.network_id for each in (*listed, *sent)} == {ANOTHER_NETWORK}
    assert (asked, nothing) == ([], [])
    assert counted == GroupCounts((GroupCount(ANOTHER_NETWORK, 7),), 1, 7)


def test_largest_groups_come_first_and_the_rest_is_told(store: Store) -> None:
    with store.read() as connection:
        counted = count_by(connection, Grouping.MODULE, RejectionFilter(), BOTH, 2)

    assert (counted.total, counted.of) == (30, 3)
    assert counted.groups == (GroupCount(None, 15), GroupCount("ADD", 8))


def test_hours_come_newest_first(store: Store) -> None:
    with store.write() as connection:
        save_record(connection, A_NETWORK, some_record(99), A_MOMENT + seconds(3600))
    with store.read() as connection:
        counted = count_by(connection, Grouping.HOUR, RejectionFilter(), BOTH, 10)
        days = count_by(connection, Grouping.DAY, RejectionFilter(), BOTH, 10)

    assert counted.groups == (GroupCount(A_MOMENT + seconds(3600), 1), GroupCount(A_MOMENT, 30))
    assert [group.count for group in days.groups] == [31]


def test_signed_transaction_tells_the_recipient(store: Store) -> None:
    with store.write() as connection:
        save_report(connection, a_report(tx_hash=a_hash(77)), A_NETWORK, A_MOMENT)
        save_report(connection, a_report(tx_hash=a_hash(78), recipient=None), A_NETWORK, A_MOMENT)
    with store.read() as connection:
        deployment, transfer, polled = archive_page(
            connection, RejectionFilter(), BOTH, PageRequest(3)
        )

    assert (transfer.is_signed_held, transfer.recipient) == (True, an_address(2))
    assert (deployment.is_signed_held, deployment.recipient) == (True, None)
    assert (polled.is_signed_held, polled.recipient) == (False, None)


def test_versions_of_a_hash_come_newest_claimed_first_however_old(store: Store) -> None:
    old = a_record(tx_hash=a_hash(5), reason_message="old", timestamp=A_MOMENT - seconds(10**7))
    with store.write() as connection:
        save_record(connection, A_NETWORK, old, A_MOMENT)
        save_record(connection, NetworkId(7), old, A_MOMENT)
    with store.read() as connection:
        found = archived_versions(connection, a_hash(5), BOTH, 10)
        first = archived_versions(connection, a_hash(5), BOTH, 1)

    assert [each.rejection.record.reason_message for each in found] == [REASONS[1], "old"]
    assert first == found[:1]
