"""Counts of what arrived, by step, stage and what the reasons name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import save_polled
from dashboard.store.rejections.counts import (
    CauseCount,
    Grouping,
    StepCount,
    count_causes,
    count_over_time,
    count_rejections,
)
from dashboard.store.rejections.search import latest_reasons, search
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, seconds

HOUR = timedelta(hours=1)
ADD = "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)"
UNKNOWN = r"=1+1 of C:\temp, 100% odd"


@pytest.fixture
def store(store: Store) -> Store:
    """Hold three rejections that arrived within one hour and one of the hour after."""
    arrivals = (
        (1, ADD, RejectionStage.SEQUENCER, 0),
        (2, ADD, RejectionStage.SEQUENCER, 3599.999),
        (3, UNKNOWN, RejectionStage.P2P, 60),
        (4, "TX_MODULE_LINE_COUNT_OVERFLOW", RejectionStage.SEQUENCER, 3600),
    )
    with store.write() as connection:
        for number, reason, stage, after in arrivals:
            record = a_record(
                tx_hash=a_hash(number), reason_message=reason, tx_rejection_stage=stage
            )
            save_polled(connection, A_NETWORK, record, A_MOMENT + seconds(after))
    return store


def test_arrivals_are_counted_by_hour_and_stage(store: Store) -> None:
    with store.read() as connection:
        counted = count_over_time(connection, RejectionFilter(since=A_MOMENT), HOUR, Grouping.STAGE)

    assert counted == [
        StepCount(A_MOMENT, RejectionStage.P2P, 1),
        StepCount(A_MOMENT, RejectionStage.SEQUENCER, 2),
        StepCount(A_MOMENT + HOUR, RejectionStage.SEQUENCER, 1),
    ]


def test_arrivals_are_counted_by_hour_and_module_or_network(store: Store) -> None:
    wanted = RejectionFilter(since=A_MOMENT)
    with store.read() as connection:
        modules = count_over_time(connection, wanted, HOUR, Grouping.MODULE)
        networks = count_over_time(connection, wanted, HOUR, Grouping.NETWORK)

    assert set(modules) == {
        StepCount(A_MOMENT, "ADD", 2),
        StepCount(A_MOMENT, None, 1),
        StepCount(A_MOMENT + HOUR, None, 1),
    }
    assert networks == [
        StepCount(A_MOMENT, A_NETWORK, 3),
        StepCount(A_MOMENT + HOUR, A_NETWORK, 1),
    ]


def test_latest_reasons_come_as_they_were_sent(store: Store) -> None:
    with store.read() as connection:
        assert latest_reasons(connection, RejectionFilter(), 2)[1] == ADD


def test_causes_are_counted_the_commonest_first(store: Store) -> None:
    with store.read() as connection:
        first, *rest = count_causes(connection, RejectionFilter(since=A_MOMENT))

    assert first == CauseCount(ReasonKind.OVER_LIMIT, "ADD", 2)
    assert CauseCount(ReasonKind.UNPARSED, None, 1) in rest
    assert CauseCount(ReasonKind.OVER_LIMIT, None, 1) in rest


def test_only_what_fits_is_counted(store: Store) -> None:
    wanted = RejectionFilter(module="ADD", since=A_MOMENT + seconds(1))
    with store.read() as connection:
        assert [
            each.count for each in count_over_time(connection, wanted, HOUR, Grouping.STAGE)
        ] == [1]
        assert [each.count for each in count_causes(connection, wanted)] == [1]
        assert count_rejections(connection, wanted) == 1


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (RejectionFilter(text="overflow(add)"), [2, 1]),
        (RejectionFilter(text=r"c:\TEMP"), [3]),
        (RejectionFilter(text="100%"), [3]),
        (RejectionFilter(text="1%1"), []),
        (RejectionFilter(module="", reason_kind=ReasonKind.OVER_LIMIT), [4]),
        (RejectionFilter(module=""), [4, 3]),
    ],
)
def test_search_finds_texts_and_reasons_without_a_module(
    store: Store, wanted: RejectionFilter, numbers: list[int]
) -> None:
    with store.read() as connection:
        found = search(connection, wanted)

    assert [int.from_bytes(each.record.tx_hash, "big") for each in found] == numbers


def test_search_goes_on_after_those_skipped(store: Store) -> None:
    with store.read() as connection:
        found = search(connection, RejectionFilter(), 2, 1)

    assert [int.from_bytes(each.record.tx_hash, "big") for each in found] == [2, 3]
