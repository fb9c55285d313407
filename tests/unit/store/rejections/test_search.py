"""Rejections are found by what people know of them, the latest arrival first."""

from __future__ import annotations

import pytest

from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.counts import count_rejections, rank_senders
from dashboard.store.rejections.search import latest_reasons, search
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    an_address,
    seconds,
)
from tests.saved_record import save_record

HUB = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)"
SHAKIRA = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB_SHAKIRA)"
NAMELESS = "TX_MODULE_LINE_COUNT_OVERFLOW"
UNKNOWN = r"=1+1 of C:\temp, 100% odd"


@pytest.fixture
def store(store: Store) -> Store:
    """Hold five rejections, a second after another."""
    saved = (
        (A_NETWORK, a_record(tx_hash=a_hash(1), timestamp=A_MOMENT + seconds(9))),
        (
            A_NETWORK,
            a_record(
                tx_hash=a_hash(2),
                tx_rejection_stage=RejectionStage.SEQUENCER,
                reason_message=HUB,
                sender=an_address(9),
            ),
        ),
        (ANOTHER_NETWORK, a_record(tx_hash=a_hash(3), reason_message=SHAKIRA)),
        (ANOTHER_NETWORK, a_record(tx_hash=a_hash(4), reason_message=UNKNOWN)),
        (ANOTHER_NETWORK, a_record(tx_hash=a_hash(5), reason_message=NAMELESS)),
    )
    with store.write() as connection:
        for second, (network_id, record) in enumerate(saved):
            save_record(connection, network_id, record, A_MOMENT + seconds(second))
    return store


FOUND: tuple[tuple[RejectionFilter, list[int]], ...] = (
    (RejectionFilter(), [5, 4, 3, 2, 1]),
    (RejectionFilter(network_id=A_NETWORK), [2, 1]),
    (RejectionFilter(tx_rejection_stage=RejectionStage.RPC), [5, 4, 3, 1]),
    (RejectionFilter(module="HUB"), [2]),
    (RejectionFilter(module="hub"), []),
    (RejectionFilter(reason_kind=ReasonKind.OVER_LIMIT, module="HUB"), [2]),
    (RejectionFilter(reason_kind=ReasonKind.UNPARSED), [4]),
    (RejectionFilter(module="%"), []),
    (RejectionFilter(sender=an_address(9)), [2]),
    (RejectionFilter(sender=an_address(), network_id=ANOTHER_NETWORK), [5, 4, 3]),
    (RejectionFilter(tx_hash=a_hash(1)), [1]),
    (RejectionFilter(since=A_MOMENT + seconds(1)), [5, 4, 3, 2]),
    (RejectionFilter(until=A_MOMENT + seconds(1)), [2, 1]),
    (RejectionFilter(network_id=ANOTHER_NETWORK, module="HUB"), []),
    (RejectionFilter(text="overflow(hub)"), [2]),
    (RejectionFilter(text=r"c:\TEMP"), [4]),
    (RejectionFilter(text="100%"), [4]),
    (RejectionFilter(text="1%1"), []),
    (RejectionFilter(module="", reason_kind=ReasonKind.OVER_LIMIT), [5]),
    (RejectionFilter(module=""), [5, 4]),
)
"""What is searched for, and the numbers of the rejections that fit."""


def test_search_finds_what_fits_and_nothing_else(store: Store) -> None:
    with store.read() as connection:
        found = [
            (
                wanted,
                [int.from_bytes(each.record.tx_hash, "big") for each in search(connection, wanted)],
            )
            for wanted, _ in FOUND
        ]

    assert found == list(FOUND)


def test_search_goes_on_after_the_last_one_that_was_shown(store: Store) -> None:
    with store.read() as connection:
        for wanted, _ in FOUND:
            whole = search(connection, wanted)
            for number, last in enumerate(whole, start=1):
                before = (last.first_seen_at, last.rejection_id)
                assert search(connection, wanted, before=before) == whole[number:], wanted


def test_latest_reasons_come_as_they_were_sent(store: Store) -> None:
    with store.read() as connection:
        assert latest_reasons(connection, RejectionFilter(), 2) == [NAMELESS, UNKNOWN]


def test_search_counts_what_fits_against_the_limit(store: Store) -> None:
    with store.read() as connection:
        found = search(connection, RejectionFilter(module="ADD"), limit=1)

    assert [each.record.tx_hash for each in found] == [a_hash(1)]


def test_rejections_are_found_by_the_label_of_what_is_tracked(store: Store) -> None:
    with store.write() as connection:
        for number, label in ((1, "payout bot"), (2, "payout bot"), (3, "payout"), (4, "")):
            request = TrackRequest(a_hash(number), (A_NETWORK,), Remarks(label=label))
            track(connection, request, A_MOMENT)
        found = search(connection, RejectionFilter(label="payout bot"))
        many = count_rejections(connection, RejectionFilter(label="payout bot", module="HUB"))

    assert [each.record.tx_hash for each in found] == [a_hash(2), a_hash(1)]
    assert many == 1


def test_senders_are_ranked_among_the_latest(store: Store) -> None:
    with store.read() as connection:
        counted = rank_senders(connection, RejectionFilter(), 1, among=4)

    assert (counted.total, counted.of) == (4, 2)
    assert [group.count for group in counted.groups] == [3]


def test_pages_follow_each_other(store: Store) -> None:
    with store.read() as connection:
        pages = [search(connection, RejectionFilter(), 2, skipped) for skipped in (0, 2, 4, 6)]

    numbers = [[int.from_bytes(each.record.tx_hash, "big") for each in page] for page in pages]
    assert numbers == [[5, 4], [3, 2], [1], []]
