"""What the store knows around the moment at which a network became busy."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.alerts.condition import Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.busy_spells import Spell, UsualSpells
from dashboard.domain.fees.gas import FeeSeries, GasObservation
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.busy_context import read_busy_context, read_busy_time, read_usual_fee
from dashboard.store.fees.busy_window import save_spells
from dashboard.store.fees.save import save_gas
from dashboard.store.fees.stored_fees import base_fee_bounds
from dashboard.store.monitoring.coverage import save_coverage
from tests.builders import A_MOMENT, A_NETWORK, GWEI, seconds, suggested_gas_fees

ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(23 * GWEI), Wei(20 * GWEI))


def poll(store: Store, age: timedelta, gwei: int) -> None:
    """See a base fee so long ago."""
    fees = suggested_gas_fees(estimated_base_fee=Wei(gwei * GWEI))
    with store.write() as connection:
        save_gas(connection, GasObservation(A_NETWORK, A_MOMENT - age, suggested_gas_fees=fees))


def live_through(store: Store, age: timedelta, length: timedelta) -> None:
    """Be busy for a length of time that began so long ago."""
    began = A_MOMENT - age
    with store.write() as connection:
        save_spells(connection, A_NETWORK, [Spell(began, began + length)])


def test_fees_are_those_of_the_day_until_that_moment(store: Store) -> None:
    for age, gwei in ((90_000, 5), (3_600, 10), (60, 23), (-60, 99)):
        poll(store, seconds(age), gwei)

    with store.read() as connection:
        found = read_busy_context(connection, A_NETWORK, ABOVE, A_MOMENT)

    assert [(each.at, each.highest) for each in found.fees] == [
        (A_MOMENT - seconds(3_600), 10 * GWEI),
        (A_MOMENT - seconds(60), 23 * GWEI),
    ]


def test_usual_length_is_that_of_spells_that_are_over(store: Store) -> None:
    for number in range(4):
        live_through(store, timedelta(days=100 - 10 * number), seconds(60 * (number + 1)))

    with store.read() as connection:
        found = read_busy_context(connection, A_NETWORK, ABOVE, A_MOMENT)

    assert found.usual == UsualSpells(3, seconds(180), seconds(240), is_of_hour=True)


def test_usual_fee_is_that_of_this_hour_on_the_days_before(store: Store) -> None:
    for days, gwei in ((0, 99), (1, 10), (2, 30), (3, 20), (31, 99)):
        poll(store, timedelta(days=days), gwei)
        poll(store, timedelta(days=days, hours=2), 5)

    with store.read() as connection:
        found = read_usual_fee(
            connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, A_MOMENT + seconds(60)
        )

    assert found is not None
    assert found.days == 3
    assert abs(found.fee - 20 * GWEI) <= 20 * GWEI / 64  # as exact as roll-ups are


def test_priority_fee_is_shown_where_it_decides(store: Store) -> None:
    poll(store, seconds(60), 23)
    priority = FeeGrounds(Signal.PRIORITY_FEE, Wei(2 * GWEI), Wei(GWEI))

    with store.read() as connection:
        found = read_busy_context(connection, A_NETWORK, priority, A_MOMENT)

    assert [each.highest for each in found.fees] == [2 * GWEI]


def test_share_of_busy_time_is_that_of_the_time_watched(store: Store) -> None:
    minute = seconds(60)
    live_through(store, 130 * minute, 20 * minute)
    live_through(store, 30 * minute, 15 * minute)
    missed = (A_MOMENT - 60 * minute, A_MOMENT - 40 * minute)
    held = Covered(A_NETWORK, Watched.FEES, A_MOMENT - 120 * minute, A_MOMENT)
    gap = Gap(A_NETWORK, Watched.FEES, *missed, GapCause.NOT_WATCHED)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, (gap,)))

    with store.read() as connection:
        busy = read_busy_time(connection, A_NETWORK, A_MOMENT - 120 * minute, A_MOMENT)

    assert busy.share == 0.25


def test_share_of_a_network_that_nobody_watched_is_not_known(store: Store) -> None:
    live_through(store, seconds(60), seconds(30))

    with store.read() as connection:
        assert read_busy_time(connection, A_NETWORK, A_MOMENT - seconds(90), A_MOMENT).share is None


def test_range_of_the_day_is_that_of_all_stored_fees(store: Store) -> None:
    for age, gwei in ((3_601, 30), (3_602, 8), (3_603, 52)):
        poll(store, seconds(age), gwei)

    with store.read() as connection:
        found = read_busy_context(connection, A_NETWORK, ABOVE, A_MOMENT)
        lowest = base_fee_bounds(connection, A_NETWORK, found.since, found.until).lowest

    assert min(each.lowest for each in found.fees) == lowest == 8 * GWEI
