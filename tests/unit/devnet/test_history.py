"""The devnet's made-up past: the same each time, bounded, labelled, and like the chain's own."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice, pairwise

from dashboard.devnet.chain import DEVNET_ID
from dashboard.devnet.history import YEAR, History
from dashboard.domain.observation import GasSource, Operation
from tests.builders import A_MOMENT

HOUR = timedelta(hours=1)


def test_history_tells_the_same_each_time() -> None:
    one, other = (History(7, A_MOMENT, 6 * HOUR) for _ in range(2))

    assert list(one.observations()) == list(other.observations())
    assert list(one.reports()) == list(other.reports())


def test_history_of_another_seed_is_another_one() -> None:
    one, other = (next(History(seed, A_MOMENT, HOUR).observations()) for seed in (7, 8))

    assert one != other


def test_history_lies_in_its_time_and_goes_forward() -> None:
    history = History(7, A_MOMENT, 48 * HOUR)

    moments = [each.asked_at for each in history.observations()]
    assert all(earlier < later for earlier, later in pairwise(moments))
    assert A_MOMENT - 48 * HOUR <= moments[0] <= A_MOMENT - 47 * HOUR
    assert A_MOMENT - timedelta(minutes=1) <= moments[-1] < A_MOMENT
    assert all(A_MOMENT - 48 * HOUR < each.at <= A_MOMENT for each in history.reports())


def test_history_is_a_year_at_most_and_looks_rarely_at_what_is_long_past() -> None:
    first, second = islice(History(7, A_MOMENT, 2 * YEAR).observations(), 2)

    assert A_MOMENT - YEAR <= first.asked_at < A_MOMENT - YEAR + HOUR
    assert second.asked_at - first.asked_at == timedelta(minutes=10)


def test_history_is_labelled_as_made_up_on_the_simulated_network() -> None:
    seen = list(History(7, A_MOMENT, HOUR).observations())

    assert {each.network_id for each in seen} == {DEVNET_ID}
    sources = {each.source_of(operation) for each in seen for operation in Operation}
    assert sources == {GasSource.DEMO_HISTORY}


def test_history_has_levels_that_agree_with_each_other() -> None:
    marked = [
        each
        for each in History(7, A_MOMENT, 24 * HOUR).observations()
        if each.busy_threshold is not None
    ]

    assert len(marked) == 24 * 6
    assert all(
        each.base_fee_percentile is not None
        and each.busy_threshold is not None
        and 0 < each.base_fee_percentile <= each.busy_threshold
        for each in marked
    )


def test_history_reports_transactions_that_are_signed_for_the_simulated_network() -> None:
    reported = list(History(7, A_MOMENT, 72 * HOUR).reports())

    assert len(reported) > 20
    assert {each.report.transaction.chain_id for each in reported} == {DEVNET_ID}
