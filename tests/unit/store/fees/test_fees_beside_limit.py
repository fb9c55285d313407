"""Of the fees that polls saw, those at which something changes beside a limit."""

from __future__ import annotations

from random import Random

import pytest

from dashboard.domain.alerts.condition import Signal
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.fees.busy_spells import HoldPeriods, JudgedValue, spells_of
from dashboard.domain.fees.gas import FeeSeries, GasObservation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import import_gas_history
from dashboard.store.fees.stored_fees import SeriesKey, fees_answered_at, fees_beside_limit
from tests.builders import A_MOMENT, A_NETWORK, GWEI, seconds, suggested_gas_fees

SILENCE = seconds(120)
KEY = SeriesKey(A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE)


def polled(store: Store, *fees: tuple[int, int]) -> None:
    """See base fees (gwei) so many seconds after the moment."""
    seen = (
        GasObservation(
            A_NETWORK,
            A_MOMENT + seconds(at),
            suggested_gas_fees(estimated_base_fee=Wei(gwei * GWEI)),
        )
        for at, gwei in fees
    )
    with store.write() as connection:
        import_gas_history(connection, list(seen))


def test_first_and_last_fee_each_turn_and_each_gap_are_read(store: Store) -> None:
    polled(store, (0, 10), (10, 10), (20, 31), (30, 32), (40, 30), (300, 29), (310, 28), (320, 27))
    limit = FeeMeasure(Signal.BASE_FEE, Wei(30 * GWEI), is_upper=True)

    with store.read() as connection:
        between = (A_MOMENT, A_MOMENT + seconds(320))
        found = fees_beside_limit(connection, KEY, limit, between, SILENCE)

    assert [((each.value.at - A_MOMENT).seconds, each.value.is_beyond) for each in found] == [
        *((0, False), (20, True), (40, False), (300, False)),
        (320, False),
    ]
    assert found[-1].fee == 27 * GWEI
    assert found[3].value.before == A_MOMENT + seconds(40)


@pytest.mark.parametrize("is_upper", [True, False])
def test_they_make_the_same_spells_as_all(store: Store, *, is_upper: bool) -> None:
    chance, at, fees = Random(3), 0, list[tuple[int, int]]()  # noqa: S311 - no secret
    gwei = 10
    for _ in range(400):
        at += chance.choice((5, 10, 10, 10, 130))
        gwei = chance.choice((10, 30, 50)) if chance.random() < 0.1 else gwei
        fees.append((at, gwei))
    polled(store, *fees)
    limit = FeeMeasure(Signal.BASE_FEE, Wei(30 * GWEI), is_upper)
    holds = HoldPeriods(seconds(30), seconds(40))
    every = [
        JudgedValue(A_MOMENT + seconds(at), gwei > 30 if is_upper else gwei < 30)
        for at, gwei in fees
    ]

    with store.read() as connection:
        between = (A_MOMENT, A_MOMENT + seconds(at))
        found = fees_beside_limit(connection, KEY, limit, between, SILENCE)

    assert len(found) < len(every)
    expected = spells_of(every, holds, SILENCE)
    assert expected
    assert spells_of((each.value for each in found), holds, SILENCE) == expected


def test_limit_may_be_more_than_any_fee(store: Store) -> None:
    polled(store, (0, 10))
    limit = FeeMeasure(Signal.BASE_FEE, Wei(10**30), is_upper=True)

    with store.read() as connection:
        [found] = fees_beside_limit(connection, KEY, limit, (A_MOMENT, A_MOMENT), SILENCE)
        assert fees_answered_at(connection, A_NETWORK, A_MOMENT - seconds(1)) is None
        assert fees_answered_at(connection, A_NETWORK, A_MOMENT + seconds(9)) == A_MOMENT

    assert not found.value.is_beyond
