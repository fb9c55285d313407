"""What pages and commands are told of each network."""

from __future__ import annotations

from dashboard.settings import Settings
from dashboard.show.networks import NetworkCard
from dashboard.wiring.networks import Network


def card_of(network: Network, settings: Settings) -> NetworkCard:
    """Return how a network is presented, and how often its figures are asked for."""
    endpoints = network.endpoints
    return NetworkCard(
        network_id=network.network_id,
        name=network.title,
        is_simulated=network.is_simulated,
        gas_period=settings.poll.gas_period,
        threshold_period=settings.poll.threshold_period,
        has_gas=endpoints.gas is not None,
        has_exclusion=endpoints.exclusion is not None,
        sees_all_reports=network.is_simulated,
    )
