"""Rules of kind fee: a fee is above or below a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashboard.domain.alerts.condition import Grounds, Signal, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import (
    DescribedChange,
    Figure,
    IncidentText,
    Judged,
    Kind,
    Measure,
)
from dashboard.domain.alerts.rule_values import word
from dashboard.domain.formatting import compared, fee_in_full, read_fee, write_fee
from dashboard.domain.formatting import fee as formatted
from dashboard.domain.quantity import Wei, format_gwei
from dashboard.errors import InputError

_LIMITS: Final = ("above", "below")
_FEES: Final = {
    Signal.BASE_FEE: "base fee",
    Signal.PRIORITY_FEE: "medium suggested priority fee",
}


@dataclass(frozen=True, slots=True)
class FeeMeasure(Measure):
    """A fee strictly above its upper limit, or strictly below its lower one."""

    signal: Signal
    limit: Wei
    is_upper: bool

    def table(self) -> dict[str, Any]:
        return {"fee": self.signal.value, self._side: write_fee(self.limit)}

    def when(self) -> str:
        return f"the {self.signal.value} is {self._side} {' '.join(fee_in_full(self.limit))}"

    @property
    def _side(self) -> str:
        return "above" if self.is_upper else "below"


class FeeLimitGrounds(Grounds, frozen=True):
    """A fee and the upper or lower limit that a rule sets."""

    signal: Signal
    fee: Wei
    limit: Wei
    is_upper: bool

    @property
    def is_beyond(self) -> bool:
        """Whether the fee is strictly above an upper limit, or strictly below a lower one."""
        return self.fee > self.limit if self.is_upper else self.fee < self.limit


def _fee(written: object) -> Wei:
    try:
        return read_fee(written)
    except InputError as error:
        raise InputError(f"is wrong: {error}") from error


def _measure(values: Mapping[str, Any]) -> FeeMeasure:
    limit = values.get("above", values.get("below"))
    return FeeMeasure(values["fee"], limit, is_upper="above" in values)


def _check(table: Mapping[str, object]) -> Iterator[str]:
    if sum(key in table for key in _LIMITS) != 1:
        yield "needs above or below, one of the two: write the fee beyond which it reports"


def _describe(change: DescribedChange, grounds: FeeLimitGrounds) -> IncidentText:
    name = _FEES[grounds.signal]
    fee, limit = _in_units(grounds)
    side = "above" if grounds.is_upper else "below"
    not_beyond = "is not" if change.is_open else "is no longer"
    claim = f"is {side}" if grounds.is_beyond else f"{not_beyond} {side}"
    return IncidentText(
        headline=f"{change.network}: {name} {fee} {claim} {limit}",
        opening=f"The {name} of {change.network}, {fee}, {claim} {limit}.",
        page="fees",
        rows=(
            change.rule,
            (name.capitalize(), f"{format_gwei(grounds.fee)} gwei"),
            ("Reported " + side, f"{format_gwei(grounds.limit)} gwei"),
            *change.lasted,
        ),
    )


def _in_units(grounds: FeeLimitGrounds) -> tuple[str, str]:
    """Format the fee and its limit in one unit, or in two if one of them would be shown as 0."""
    fee, limit, unit = compared(grounds.fee, grounds.limit)
    if "0" in {fee, limit}:
        return " ".join(formatted(grounds.fee)), " ".join(formatted(grounds.limit))
    return f"{fee} {unit}", f"{limit} {unit}"


FEE: Final = Kind(
    title="{where}fee beyond its limit",
    when="a fee passes a limit",
    subjects={SubjectKind.FEE_LIMIT: Judged(State.WITHIN_LIMITS, State.BEYOND_LIMITS)},
    rests_on=frozenset({SubjectKind.GAS_API, SubjectKind.FEES}),
    is_measured=True,
    figures=(
        Figure("fee", word(Signal), "Fee", choices=[*map(str, Signal)], is_needed=True),
        Figure("above", _fee, "Above", example="1.5gwei"),
        Figure("below", _fee, "or below", example="7wei"),
    ),
    measure=_measure,
    check=_check,
    grounds={"fee limit": FeeLimitGrounds},
    describe=_describe,
)
