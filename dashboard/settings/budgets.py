"""[budgets.NAME]: what one account of an upstream allows, and whether the fees fit into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import METHODS, NODE_READING, bare_method
from dashboard.domain.quantity import shorten
from dashboard.settings.layers import Remark, SettingPath

if TYPE_CHECKING:
    from dashboard.settings.schema import (
        EndpointSettings,
        NetworkSettings,
        PollSettings,
        Settings,
    )

_DAY: Final = timedelta(days=1)

Limit = Annotated[int, Meta(ge=0, le=10**15)]


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[budgets.NAME]: limits of one account, for every endpoint that names it; 0 means no limit.

    `reserve` percent are for look-ups of people. `credits` is the cost of calls of a method that do
    not cost `credits_per_call`.
    """

    credits_per_day: Limit = 0
    credits_per_month: Limit = 0
    requests_per_second: Limit = 0
    requests_at_once: Limit = 0
    reserve: Annotated[int, Meta(ge=0, le=90)] = 10
    credits_per_call: Annotated[int, Meta(ge=0, le=10**9)] = 80
    credits: dict[str, Annotated[int, Meta(ge=0, le=10**9)]] = {}

    def budget(self, name: str) -> Budget:
        """Return it as a domain record: methods without prefixes."""
        given = {each: getattr(self, each) for each in self.__struct_fields__}
        bare = {bare_method(method): cost for method, cost in self.credits.items()}
        return Budget(name, **given | {"credits": bare})


def check_budgets(settings: Settings) -> Iterator[Remark]:
    """Yield budgets that are named but missing, or that could not be kept."""
    for name, network in settings.networks.items():
        for path, endpoint in endpoints_of(network):
            if endpoint.budget and endpoint.budget not in settings.budgets:
                known = ", ".join(settings.budgets) or "none"
                message = f"is {shorten(endpoint.budget)}, not a table of [budgets]: there "
                yield ("networks", name, *path, "budget"), f"{message}are {known}"
    for name, each in settings.budgets.items():
        if each.requests_at_once == 1 and each.reserve:
            message = "is 1, which leaves look-ups no room beside polls: write 2, or reserve = 0"
            yield ("budgets", name, "requests_at_once"), message
        unknown = [method for method in each.credits if bare_method(method) not in METHODS]
        for method in unknown:
            near = get_close_matches(bare_method(method), METHODS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(METHODS)}"
            yield ("budgets", name, "credits", method), f"is not a method of Linewatch: {hint}"
        if not unknown:
            yield from _check_plan(settings, each.budget(name))


def endpoints_of(network: NetworkSettings) -> Iterator[tuple[SettingPath, EndpointSettings]]:
    """Yield each endpoint with its path in the table of the network."""
    for key in ("exclusion", "gas", "node"):
        if (endpoint := getattr(network, key)) is not None:
            yield (key,), endpoint
    for key in ("exclusions", "nodes"):
        yield from (((key, str(at)), each) for at, each in enumerate(getattr(network, key)))


_STANDBY_CHECKED: Final = timedelta(seconds=10)
_SHORTEST_BLOCK: Final = timedelta(seconds=1)


def fee_calls_per_day(
    network: NetworkSettings, poll: PollSettings
) -> Iterator[tuple[EndpointSettings, Mapping[str, int]]]:
    """Yield the questions about fees, with a day's calls by method.

    Of nodes only those charged to a budget: the worker reads the first one if there is no gas API,
    our own serve reads it for each block. Standbys are checked meanwhile.
    """
    gas_period = network.gas_period or poll.gas_period
    if network.gas is not None:
        history_period = network.history_period or poll.history_period
        threshold_period = network.threshold_period or poll.threshold_period
        periods = GasPeriods(gas_period, history_period, threshold_period)
        yield network.gas, periods.calls_per_day()
    readers = [] if network.gas is not None else [gas_period]
    if network.serve_fees:
        readers.append(max(_SHORTEST_BLOCK, network.block_time or _SHORTEST_BLOCK))
    readings = sum(-(-_DAY // each) for each in readers)
    for place, node in enumerate(network.all_nodes):
        if node.budget and place == 0:
            yield node, {method: readings * calls for method, calls in NODE_READING.items()}
        elif node.budget:
            yield node, {"eth_getBlockByNumber": len(readers) * (_DAY // _STANDBY_CHECKED)}


def fee_credits_per_day(settings: Settings, budget: Budget) -> int:
    """Return what the fees of all networks on a budget cost a day, at their periods."""
    return sum(
        budget.cost(method, calls)
        for network in settings.networks.values()
        for endpoint, asked in fee_calls_per_day(network, settings.poll)
        if endpoint.budget == budget.name
        for method, calls in asked.items()
    )


def _check_plan(settings: Settings, budget: Budget) -> Iterator[Remark]:
    """One call has to fit, and so have fees, which are asked at their periods whatever is left."""
    days = {BudgetPeriod.DAY: 1, BudgetPeriod.MONTH: 31}
    planned = fee_credits_per_day(settings, budget)
    call = max(budget.credits_per_call, *budget.credits.values(), 0)
    for period, limit in budget.limits(for_people=False).items():
        path = "budgets", budget.name, f"credits_per_{period.value}"
        left, fees = f"leaves polls {limit:,} credits a {period.value}", planned * days[period]
        if limit < call:
            yield path, f"{left}, and one call costs up to {call:,}: raise it"
        elif fees > limit:
            remedy = (
                "raise it, or lengthen gas_period, history_period and threshold_period; of a node, "
                "set serve_fees = false if our own serve need not read it"
            )
            yield path, f"{left}, and fees alone need {fees:,}: {remedy}"
