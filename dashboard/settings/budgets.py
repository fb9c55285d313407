"""[budgets.NAME]: what an account of an upstream allows, and the check that fees fit into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import shorten
from dashboard.settings.layers import Remark

if TYPE_CHECKING:
    from dashboard.settings.schema import Settings

_DAY: Final = timedelta(days=1)

Limit = Annotated[int, Meta(ge=0, le=10**15)]


class BudgetSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[budgets.NAME]: limits of one account, for every endpoint that names it; 0 is no limit.

    `reserve` percent are for look-ups of people. `credits` are what calls of a method cost that do
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
        """Return it as the domain has it."""
        return Budget(name, **{each: getattr(self, each) for each in self.__struct_fields__})


def check_budgets(settings: Settings) -> Iterator[Remark]:
    """Yield budgets that are named and not there, or that could not be kept."""
    for name, network in settings.networks.items():
        exclusion = (("exclusion",), network.exclusion)
        more = ((("exclusions", str(place)), each) for place, each in enumerate(network.exclusions))
        for path, endpoint in (exclusion, *more, (("gas",), network.gas)):
            if endpoint is not None and endpoint.budget:
                at = ("networks", name, *path, "budget")
                yield from _check_named(endpoint.budget, at, settings.budgets)
    for name, each in settings.budgets.items():
        if each.requests_at_once == 1 and each.reserve:
            message = "is 1, so that look-ups have no place beside polls: write 2, or reserve = 0"
            yield ("budgets", name, "requests_at_once"), message
        yield from _check_plan(each.budget(name), fee_credits_per_day(settings, name))


def _check_named(
    given: str, path: tuple[str, ...], budgets: Mapping[str, BudgetSettings]
) -> Iterator[Remark]:
    if given not in budgets:
        known = ", ".join(budgets) or "none"
        yield path, f"is {shorten(given)}, which is no table of [budgets]: there are {known}"


def fee_credits_per_day(settings: Settings, name: str) -> int:
    """Return what the fees of all networks on a budget cost a day, as often as they are asked."""
    budget, total = settings.budgets[name].budget(name), 0
    for network in settings.networks.values():
        if network.gas is not None and network.gas.budget == name:
            common = settings.poll
            threshold_period = network.threshold_period or common.threshold_period
            periods = {
                Operation.SUGGESTED_GAS_FEES: network.gas_period or common.gas_period,
                Operation.BASE_FEE_HISTORY: network.history_period or common.history_period,
                Operation.BASE_FEE_PERCENTILE: threshold_period,
                Operation.BUSY_THRESHOLD: threshold_period,
            }
            total += sum(budget.cost(each, -(-_DAY // period)) for each, period in periods.items())
    return total


def _check_plan(budget: Budget, planned: int) -> Iterator[Remark]:
    """One call has to fit, and so have fees, which are asked at their periods whatever is left."""
    days = {BudgetPeriod.DAY: 1, BudgetPeriod.MONTH: 31}
    for period, limit in budget.limits(for_people=False).items():
        path = "budgets", budget.name, f"credits_per_{period.value}"
        left, fees = f"leaves polls {limit:,} credits a {period.value}", planned * days[period]
        if limit < budget.credits_per_call:
            yield path, f"{left}, and one call costs {budget.credits_per_call:,}: raise it"
        elif fees > limit:
            remedy = "raise it, or lengthen gas_period, history_period and threshold_period"
            yield path, f"{left}, and fees alone need {fees:,}: {remedy}"
