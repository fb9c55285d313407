"""A history is put in at once, overwrites nothing, and is told apart from what was seen."""

from __future__ import annotations

from datetime import datetime

import pytest

from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import (
    first_observed_at,
    import_gas_history,
    other_networks,
)
from dashboard.store.fees.latest import latest_gas
from dashboard.store.fees.save import save_gas
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    seconds,
    suggested_gas_fees,
)
from tests.one_by_one import base_fees
from tests.saved_record import save_record


def made_up(at: datetime, base_fee: int = 5) -> GasObservation:
    return GasObservation(
        A_NETWORK,
        at,
        suggested_gas_fees(estimated_base_fee=Wei(base_fee)),
        base_fee_percentile=Wei(3),
        busy_threshold=Wei(4),
        sources=dict.fromkeys(Operation, GasSource.DEMO_HISTORY),
    )


def test_history_is_read_back_with_its_source(store: Store) -> None:
    with store.write() as connection:
        import_gas_history(connection, [made_up(A_MOMENT), made_up(A_MOMENT + seconds(1), 6)])
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + seconds(1))

    assert latest.suggested_gas_fees is not None
    assert latest.suggested_gas_fees.value.estimated_base_fee == 6
    assert latest.suggested_gas_fees.source is GasSource.DEMO_HISTORY
    assert latest.busy_threshold is not None
    assert latest.busy_threshold.value == 4


def test_history_leaves_what_was_seen_as_it_is(store: Store) -> None:
    seen = GasObservation(A_NETWORK, A_MOMENT, suggested_gas_fees())
    with store.write() as connection:
        save_gas(connection, seen)
        import_gas_history(connection, [made_up(A_MOMENT)])
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + seconds(1)).suggested_gas_fees

    assert latest is not None
    assert (latest.value, latest.source) == (seen.suggested_gas_fees, GasSource.GAS_API)


def test_history_leaves_a_time_alone_whose_base_fee_was_estimated(store: Store) -> None:
    history = GasObservation(A_NETWORK, A_MOMENT, base_fee_history=(Wei(7), Wei(8)))
    with store.write() as connection:
        save_gas(connection, history, seconds(2))
        import_gas_history(connection, [made_up(A_MOMENT), made_up(A_MOMENT - seconds(1))])
        found = base_fees(connection, A_NETWORK, A_MOMENT - seconds(9), A_MOMENT)

    assert [fee for _, fee, _ in found] == [7, 5, 8]


@pytest.mark.parametrize("later", [1, 600])
def test_history_beside_what_was_seen_in_its_minute_or_hour_is_kept(
    store: Store, later: int
) -> None:
    with store.write() as connection:
        save_gas(connection, GasObservation(A_NETWORK, A_MOMENT, suggested_gas_fees()))
        import_gas_history(connection, [made_up(A_MOMENT + seconds(later), 6)])
        latest = latest_gas(connection, A_NETWORK, A_MOMENT + seconds(later))

    assert latest.suggested_gas_fees is not None
    assert latest.suggested_gas_fees.value.estimated_base_fee == 6


def test_first_observation_is_the_first_that_was_not_made_up(store: Store) -> None:
    with store.write() as connection:
        import_gas_history(connection, [made_up(A_MOMENT)])
        assert first_observed_at(connection, A_NETWORK) is None
        for second in (9, 8):
            at = A_MOMENT + seconds(second)
            save_gas(connection, GasObservation(A_NETWORK, at, suggested_gas_fees()))

        assert first_observed_at(connection, A_NETWORK) == A_MOMENT + seconds(8)
        assert first_observed_at(connection, ANOTHER_NETWORK) is None


def test_other_networks_are_told_by_any_kind_of_data(store: Store) -> None:
    with store.write() as connection:
        import_gas_history(connection, [made_up(A_MOMENT)])
        assert other_networks(connection, [A_NETWORK]) == []
        assert other_networks(connection, [ANOTHER_NETWORK]) == [A_NETWORK]
        save_record(connection, ANOTHER_NETWORK, a_record(), A_MOMENT)
        assert other_networks(connection, [A_NETWORK]) == [ANOTHER_NETWORK]


def test_other_networks_are_told_by_what_is_only_tracked(store: Store) -> None:
    request = TrackRequest(a_hash(), (ANOTHER_NETWORK,))
    with store.write() as connection:
        track(connection, request, A_MOMENT)

        assert other_networks(connection, [A_NETWORK]) == [ANOTHER_NETWORK]
