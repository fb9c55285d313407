"""The networks of an installation: watched or simulated, with endpoints and conditions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.devnet.genesis import BLOCK_SECONDS, DEVNET_ID, SIMULATED
from dashboard.devnet.rejection_scripts import LIMITS as SIMULATED_LIMITS
from dashboard.domain.fees.busy_spells import HoldPeriods
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.health.budgets import FREE, USUAL, Budget
from dashboard.domain.health.observation import (
    FEE_OPERATIONS,
    FOLLOW_UP_METHODS,
    Cost,
    Operation,
    Spent,
)
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import LineLimits, ModuleLimits
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.cadence import (
    FOLLOW_UP_CADENCE,
    SELDOM,
    CadencePolicy,
    calls_per_transaction,
)
from dashboard.settings import EndpointSettings, NetworkSettings, Settings
from dashboard.settings.budgets import fee_calls_per_day
from dashboard.settings.presets import line_limits_of
from dashboard.settings.schema import FEWEST_CALLS, ExclusionSettings, fill
from dashboard.settings.values import authority_of

_VERIFIED: Final = 10
"""One of this many calls is left if our own serve gets the reports."""


class Network(Struct, frozen=True):
    """One network: what people call it, and where it is asked.

    `own_serve` is the address of our own serve, whose answers cost nothing. `is_history_only`: it
    is not watched, and all that is known of it is a demo history.
    """

    network_id: NetworkId
    title: str
    endpoints: NetworkSettings
    is_simulated: bool = False
    own_serve: str = ""
    is_history_only: bool = False

    def fees(self, common: FeePolicy) -> FeePolicy:
        """Return the numbers behind its gas operations: its own, or those of all networks."""
        return self.endpoints.fees or common


def networks_of(settings: Settings) -> tuple[Network, ...]:
    """Return the watched networks, devnet first."""
    return tuple(_networks(settings))


def shown_networks(settings: Settings) -> tuple[Network, ...]:
    """Return the networks of pages and commands: watched ones, then those with a history only."""
    unwatched = SIMULATED[1 : settings.devnet.networks] if settings.has_devnet else ()
    return networks_of(settings) + tuple(
        Network(
            each.network_id,
            each.title,
            NetworkSettings(network_id=each.network_id),
            is_simulated=True,
            is_history_only=True,
        )
        for each in unwatched
    )


def _networks(settings: Settings) -> Iterator[Network]:
    own = _own_serve(settings)
    if settings.has_devnet:
        yield Network(
            DEVNET_ID, "devnet", _devnet_endpoints(settings), is_simulated=True, own_serve=own
        )
    for name, endpoints in settings.networks.items():
        network_id, title = NetworkId(endpoints.network_id), endpoints.title or name
        yield Network(network_id, title, _located(endpoints, settings), own_serve=own)


def _devnet_endpoints(settings: Settings) -> NetworkSettings:
    node = Secret(f"http://{authority_of(settings.devnet.host, settings.devnet.port)}")
    [prefix, *_] = settings.serve.method_prefixes
    url, key = Secret(_own_serve(settings)), settings.devnet.key
    own = ExclusionSettings(url=url, key=key, method_prefix=prefix)
    return NetworkSettings(
        network_id=DEVNET_ID,
        exclusion=own,
        gas=own,
        node=EndpointSettings(url=node),
        block_time=timedelta(seconds=BLOCK_SECONDS),
        line_limits_end=settings.devnet.line_limits_end,
    )


def _located(network: NetworkSettings, settings: Settings) -> NetworkSettings:
    """Insert the address of our own serve where it is meant, and a prefix that it answers to."""
    address, [prefix, *_] = Secret(_own_serve(settings)), settings.serve.method_prefixes

    def located(endpoint: EndpointSettings) -> EndpointSettings:
        if not endpoint.is_own_serve:
            return endpoint
        return msgspec.structs.replace(endpoint, url=address, method_prefix=prefix)

    return msgspec.structs.replace(
        network,
        exclusion=network.exclusion and located(network.exclusion),
        gas=network.gas and located(network.gas),
        exclusions=[located(each) for each in network.exclusions],
    )


def _own_serve(settings: Settings) -> str:
    return f"http://{authority_of(settings.serve.host, settings.serve.port)}"


def sees_all_reports(network: Network, settings: Settings) -> bool:
    """Whether the network's nodes report to our own serve, which therefore knows all rejections."""
    return any(is_own_serve(each, settings) for each in network.endpoints.all_exclusions.values())


def is_own_serve(endpoint: EndpointSettings, settings: Settings) -> bool:
    """Whether an endpoint is where our own serve listens."""
    return endpoint.url.reveal().rstrip("/") == _own_serve(settings)


def line_limits(network: Network) -> LineLimits:
    """Return the limits that reasons on this network leave out, if known, and their end."""
    found = line_limits_of(network.endpoints)
    if network.is_simulated:
        own = ModuleLimits("devnet", "", "the simulated chain itself", SIMULATED_LIMITS)
        return replace(found, tables=(own,))
    return found


def gas_periods(network: Network, settings: Settings) -> GasPeriods:
    """Return how often the network's fees are asked for: its own periods, or those of all."""
    return fill(GasPeriods, settings.poll, network.endpoints)


def condition_rules(settings: Settings) -> ConditionRules:
    alerts = settings.alerts
    return ConditionRules(
        busy=HoldPeriods(alerts.busy_pending, alerts.busy_keep_firing),
        outage=HoldPeriods(alerts.silence_pending, alerts.silence_keep_firing),
        staleness=HoldPeriods(alerts.stale_pending),
    )


def tariff_of(
    endpoint: EndpointSettings, network: Network, budgets: Mapping[str, Budget]
) -> Budget:
    """Return what calls to one endpoint of a network cost: by its budget, if it has one.

    Otherwise our own serve and nodes are free, and everything else costs what a hosted gateway
    usually charges.
    """
    if endpoint.budget in budgets:
        return budgets[endpoint.budget]
    address = re.sub("^ws", "http", endpoint.url.reveal()).rstrip("/")
    is_node = any(endpoint is each for each in network.endpoints.all_nodes)
    return FREE if is_node or address == network.own_serve else USUAL


def budgets_of(settings: Settings) -> dict[str, Budget]:
    return {name: each.budget(name) for name, each in settings.budgets.items()}


def cost_of(network: Network, settings: Settings) -> Cost:
    """Return what polling costs with the periods and the cadence of the settings."""
    question, fees = defaultdict[str, Spent](Spent), defaultdict[str, Spent](Spent)
    budgets, gas_credits = budgets_of(settings), 0
    for each in asked_exclusions(network):
        tariff = tariff_of(each, network, budgets)
        question[tariff.name] += Spent(1, tariff.cost(Operation.EXCLUSION_STATUS))
    for endpoint, asked in fee_calls_per_day(network.endpoints, settings.poll):
        tariff = tariff_of(endpoint, network, budgets)
        for method, calls in asked.items():
            fees[tariff.name] += Spent(calls, tariff.cost(method, calls))
            gas_credits += tariff.cost(method, calls) if method in FEE_OPERATIONS else 0
    after = after_limits(network)
    ends = network.endpoints.ends_limits
    return Cost(
        question,
        fees,
        gas_credits,
        calls_per_transaction(cadence_of(network, settings)),
        (0 if after is None else calls_per_transaction(after)) if ends else None,
        _receipt_of(network, budgets),
        calls_per_transaction(FOLLOW_UP_CADENCE),
    )


def _receipt_of(network: Network, budgets: Mapping[str, Budget]) -> dict[str, Spent]:
    """Return what the node that is asked first charges to its budget for a receipt."""
    budget = next((budgets.get(each.budget) for each in network.endpoints.all_nodes), None)
    return {} if budget is None else {budget.name: Spent(1, receipt_credits(budget))}


def receipt_credits(budget: Budget) -> int:
    """Return the price of a receipt, or of the dearest call beside it."""
    return max(map(budget.cost, FOLLOW_UP_METHODS))


def asked_exclusions(network: Network) -> list[ExclusionSettings]:
    """Return the exclusion endpoints that are asked about each transaction, while all answer."""
    asked = list(network.endpoints.all_exclusions.values())
    return asked if network.endpoints.asks_all else asked[:1]


def cadence_of(network: Network, settings: Settings) -> CadencePolicy:
    """Return how often to ask about a transaction.

    Reports to our own serve are in the store at once, with everything that follows from them:
    asking it only shows that it answers.
    """
    calls = settings.poll.calls_per_transaction
    if asked_exclusions(network) and all(
        is_own_serve(each, settings) for each in asked_exclusions(network)
    ):
        calls = max(FEWEST_CALLS, calls // _VERIFIED)
    return CadencePolicy(calls)


def after_limits(network: Network) -> CadencePolicy | None:
    """Return how often to ask about what was first seen after line limits ended; None for never."""
    return SELDOM if line_limits(network).is_asked_after else None
