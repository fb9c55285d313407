"""The ledger adds calls up by network, operation and hour."""

from __future__ import annotations

from dashboard.domain.health.observation import Spent
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.upkeep import LedgerLine, record_credits, spent_since
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, seconds

FEES = {"suggestedGasFees": Spent(1, 80)}
STATUS = {"getTransactionExclusionStatusV1": Spent(30, 2400), "eth_getBlockByNumber": Spent(4, 0)}


def test_calls_of_an_hour_are_added_up(store: Store) -> None:
    with store.write() as connection:
        record_credits(connection, A_NETWORK, A_MOMENT, FEES)
        record_credits(connection, A_NETWORK, A_MOMENT + seconds(3599), FEES)
        record_credits(connection, A_NETWORK, A_MOMENT, {})
        record_credits(connection, A_NETWORK, A_MOMENT - seconds(1), STATUS)

    with store.read() as connection:
        found = spent_since(connection, A_MOMENT)
    assert found == [LedgerLine(A_NETWORK, "suggestedGasFees", Spent(2, 160))]


def test_spending_is_told_by_network_and_operation_the_dearest_first(store: Store) -> None:
    with store.write() as connection:
        record_credits(connection, A_NETWORK, A_MOMENT, FEES)
        record_credits(connection, ANOTHER_NETWORK, A_MOMENT, STATUS)

    with store.read() as connection:
        found = [
            (each.network_id, each.spent.credits) for each in spent_since(connection, A_MOMENT)
        ]
    assert found == [(ANOTHER_NETWORK, 2400), (A_NETWORK, 80), (ANOTHER_NETWORK, 0)]
