"""Try every configured endpoint once, and say what asking it costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from dashboard.poll.clocks import Clocks
from dashboard.poll.cost import Cost, calls_per_transaction, gas_calls_per_day
from dashboard.poll.next_check import CadencePolicy
from dashboard.poll.trial import Trial, TrialResult
from dashboard.settings import Settings
from dashboard.wiring.clients import Clients, open_clients
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, gas_periods, networks_of, sees_all_reports


@dataclass(frozen=True, slots=True)
class TriedNetwork:
    """A network with the answers of its endpoints; `cost` is None where calls are free."""

    network: Network
    findings: tuple[TrialResult, ...]
    cost: Cost | None


async def try_networks(settings: Settings, only: int | None = None) -> list[TriedNetwork]:
    """Ask each endpoint of each network once, or of the one with this id, without retries."""
    async with open_clients(settings, attempts=1) as clients:
        return [
            TriedNetwork(
                network,
                tuple([finding async for finding in _findings(network, clients)]),
                cost_of(network, settings),
            )
            for network in networks_of(settings)
            if only in {None, network.network_id}
        ]


def cost_of(network: Network, settings: Settings) -> Cost | None:
    """Return the calls that polling takes; None where our own serve answers them."""
    endpoints = network.endpoints
    if sees_all_reports(network, settings) or (endpoints.gas is endpoints.exclusion is None):
        return None
    cadence = CadencePolicy(shortest_interval=settings.poll.shortest_interval)
    return Cost(
        gas_calls_per_day(gas_periods(network, settings)) if endpoints.gas else 0,
        calls_per_transaction(cadence) if endpoints.exclusion else 0,
    )


async def _findings(network: Network, clients: Clients) -> AsyncIterator[TrialResult]:
    trial = Trial(Clocks(utc_now, elapsed))
    exclusion = clients.exclusion(network)
    if exclusion is not None:
        async for finding in trial.exclusion(exclusion, *clients.other_transport(network)):
            yield finding
    gas = clients.gas(network)
    if gas is not None:
        async for finding in trial.gas(gas):
            yield finding
    nodes = clients.nodes(network)
    for place, node in enumerate(nodes, start=1):
        async for finding in trial.node(node, network.network_id):
            yield finding if len(nodes) == 1 else replace(finding, endpoint=f"node {place}")
