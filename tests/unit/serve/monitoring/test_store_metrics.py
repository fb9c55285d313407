"""Metrics of networks say what the store has: fees, rejections, tracked transactions, credits."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from prometheus_client import CollectorRegistry, generate_latest

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import Spent
from dashboard.serve.monitoring.store_metrics import NetworkMetrics
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.monitoring.upkeep import record_credits
from tests.builders import A_MOMENT, A_NETWORK, a_transition, suggested_gas_fees
from tests.delivery_checks import reject


def told(store: Store, metrics: NetworkMetrics) -> str:
    """Read the store at a moment, and return the text for Prometheus."""
    with store.read() as connection:
        metrics.read(connection, A_MOMENT)
    registry = CollectorRegistry()
    registry.register(metrics)
    return generate_latest(registry).decode()


def test_metrics_tell_what_happened_on_a_network_today(store: Store) -> None:
    reject(store)
    busy = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    with store.write() as connection:
        observed = GasObservation(A_NETWORK, A_MOMENT, suggested_gas_fees=suggested_gas_fees())
        save_gas(connection, observed, block_time=timedelta(seconds=2))
        became = a_transition(2, transition_id=uuid4(), subject=busy, after=State.BUSY)
        record_transition(connection, became, None)
        record_credits(connection, A_NETWORK, A_MOMENT, {"suggestedGasFees": Spent(2, 160)})
        yesterday = A_MOMENT - timedelta(days=1)
        record_credits(connection, A_NETWORK, yesterday, {"suggestedGasFees": Spent(9, 720)})

    text = told(store, NetworkMetrics({A_NETWORK: "devnet"}))

    assert 'linewatch_base_fee_wei{network="devnet"} 1e+10' in text
    assert 'linewatch_network_busy{network="devnet"} 1.0' in text
    of = 'module="ADD",network="devnet",stage="RPC"'
    assert f"linewatch_rejections_total{{{of}}} 1.0" in text
    assert 'linewatch_tracked_transactions{verdict="no rejection on record"} ' in text
    assert 'linewatch_credits_total{network="devnet"} 160.0' in text


def test_nothing_is_told_of_a_network_before_anything_is_known(store: Store) -> None:
    text = told(store, NetworkMetrics({A_NETWORK: "devnet"}))

    assert "linewatch_base_fee_wei{" not in text
    assert "linewatch_network_busy{" not in text
    assert 'linewatch_credits_total{network="devnet"} 0.0' in text
