"""A leaf of the list of rejections holds what skipping row by row would leave, wherever it is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import save_reports
from dashboard.store.rejections.counts import rank_senders
from dashboard.store.rejections.save import LocatedReport
from dashboard.store.rejections.search import search, search_page
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_report, an_address

COUNT = 620
DENSE = timedelta(seconds=13)
SPARSE = timedelta(minutes=31)


@pytest.fixture(scope="module")
def arrivals() -> list[timedelta]:
    """Return when each rejection arrives: some close together, some weeks apart."""
    return [number * (SPARSE if number % 3 else DENSE) for number in range(COUNT)]


@pytest.fixture
def store(store: Store, arrivals: list[timedelta]) -> Store:
    """Hold more rejections than are skipped one by one."""
    with store.write() as connection:
        for number, after in enumerate(arrivals):
            report = a_report(
                tx_hash=a_hash(number),
                sender=an_address(number % 5),
                tx_rejection_stage=list(RejectionStage)[number % 2],
                reason_message=f"TX_MODULE_LINE_COUNT_OVERFLOW(M{number % 2})",
            )
            network_id = ANOTHER_NETWORK if number % 7 == 0 else A_NETWORK
            save_reports(connection, [LocatedReport(report, network_id)], A_MOMENT + after)
    return store


filters = st.builds(
    RejectionFilter,
    network_id=st.sampled_from([None, A_NETWORK]),
    tx_rejection_stage=st.sampled_from([None, RejectionStage.SEQUENCER, RejectionStage.P2P]),
    module=st.sampled_from([None, "M0", "NONE"]),
    sender=st.sampled_from([None, None, an_address(1)]),
    since=st.none() | st.integers(0, COUNT).map(lambda number: A_MOMENT + number * SPARSE),
    until=st.none() | st.integers(0, COUNT).map(lambda number: A_MOMENT + number * SPARSE),
)


def test_leaves_are_what_skipping_leaves(store: Store) -> None:
    @given(wanted=filters, skipped=st.integers(0, COUNT))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
    def check(wanted: RejectionFilter, skipped: int) -> None:
        with store.read() as connection:
            assert search_page(connection, wanted, 5, skipped) == search(
                connection, wanted, 5, skipped
            )

    check()


def test_senders_are_ranked_among_the_latest(store: Store) -> None:
    wanted = RejectionFilter(network_id=A_NETWORK)
    with store.read() as connection:
        counted = rank_senders(connection, wanted, 2, among=8)
        latest = search(connection, wanted, 8)

    assert counted.total == 8
    assert counted.of == len({each.record.sender for each in latest})
    assert [group.count for group in counted.groups] == sorted(
        (sum(each.record.sender == group.key for each in latest) for group in counted.groups),
        reverse=True,
    )
