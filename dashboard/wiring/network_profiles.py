"""The profile of each network: what is configured of it, as pages and commands show it."""

from __future__ import annotations

from dashboard.poll.cost import CREDITS_PER_CALL
from dashboard.settings import Settings
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.wiring.condition_rules import condition_rules
from dashboard.wiring.endpoint_trial import cost_of
from dashboard.wiring.networks import (
    Network,
    gas_periods,
    is_own_serve,
    module_limits,
    sees_all_reports,
)


def profile_of(network: Network, settings: Settings) -> NetworkProfile:
    """Return how a network is presented, and how often its figures are asked for."""
    endpoints, periods = network.endpoints, gas_periods(network, settings)
    cost = cost_of(network, settings)
    is_charged = endpoints.exclusion is not None and not sees_all_reports(network, settings)
    return NetworkProfile(
        network_id=network.network_id,
        name=network.title,
        is_simulated=network.is_simulated,
        gas_period=periods.suggested_gas_fees,
        threshold_period=periods.thresholds,
        has_gas=network.is_history_only or endpoints.gas is not None or bool(endpoints.all_nodes),
        has_exclusion=endpoints.exclusion is not None,
        gas_source=gas_source(network, settings),
        sees_all_reports=sees_all_reports(network, settings),
        history_period=periods.base_fee_history,
        module_limits=module_limits(network),
        block_time=endpoints.block_time,
        planned_credits=0 if cost is None else cost.gas_credits,
        question_credits=CREDITS_PER_CALL if is_charged else 0,
        rules=condition_rules(settings),
        coin=endpoints.coin,
        coin_price=None if endpoints.coin_price is None else endpoints.coin_price.price,
    )


def gas_source(network: Network, settings: Settings) -> str:
    """Name who is asked first for the network's fees."""
    if network.is_history_only:
        return "nobody"
    if network.endpoints.gas is None:
        return "the network's node"
    if is_own_serve(network.endpoints.gas, settings):
        return "this installation's own serve"
    return "the gas API"
