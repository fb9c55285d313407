"""Credits of budgets are counted before they are spent, once for all processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.transport_state import Transport, TransportState
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import note_transports, transports_of
from dashboard.store.monitoring.upkeep import note_stretch, spent_of, stretch_of, take_credits
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK

DAY, MONTH = BudgetPeriod.DAY, BudgetPeriod.MONTH


def test_processes_that_take_at_once_never_take_more_than_the_limit(store: Store) -> None:
    def take(_: int) -> bool:
        with store.write() as connection:
            return take_credits(connection, "b", A_MOMENT, 30, {DAY: 100, MONTH: 1000})

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(take, range(16)))

    with store.read() as connection:
        assert spent_of(connection, "b", A_MOMENT) == {DAY: 90, MONTH: 90}
    assert sum(taken) == 3


def test_new_day_has_its_credits_and_the_month_goes_on(store: Store) -> None:
    tomorrow = A_MOMENT + timedelta(days=1)
    with store.write() as connection:
        first = take_credits(connection, "b", A_MOMENT, 100, {DAY: 100, MONTH: 150})
        too_much = take_credits(connection, "b", tomorrow, 60, {DAY: 100, MONTH: 150})
        second = take_credits(connection, "b", tomorrow, 50, {DAY: 100, MONTH: 150})
        note_stretch(connection, "b", tomorrow, 2.5)

    with store.read() as connection:
        assert (first, too_much, second) == (True, False, True)
        assert spent_of(connection, "b", tomorrow) == {DAY: 50, MONTH: 150}
        assert (stretch_of(connection, "b", A_MOMENT), stretch_of(connection, "b", tomorrow)) == (
            1.0,
            2.5,
        )


def test_transports_are_kept_for_each_endpoint_the_one_in_use_first(store: Store) -> None:
    http = TransportState(Transport.HTTP, 10, 11, is_used=True, trouble="HTTP 413")
    websocket = TransportState(Transport.WEBSOCKET, trouble="no answer")
    with store.write() as connection:
        note_transports(connection, A_NETWORK, {"one": [TransportState(Transport.HTTP), websocket]})
        note_transports(connection, A_NETWORK, {"one": [http]})

    with store.read() as connection:
        found = transports_of(connection, [A_NETWORK, ANOTHER_NETWORK])
    assert found == {A_NETWORK: {"one": [http, websocket]}, ANOTHER_NETWORK: {}}
