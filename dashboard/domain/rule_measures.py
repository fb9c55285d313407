"""What a rule measures as keys of its table: which figures a kind needs, how they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dashboard.domain.rule import (
    CreditMeasure,
    ExpiryMeasure,
    FeeMeasure,
    RateMeasure,
    RuleKind,
    RuleMeasure,
)
from dashboard.domain.written_values import write_duration, write_fee

FIGURES: Final[Mapping[RuleKind, tuple[str, ...]]] = {
    RuleKind.REJECTION_RATE: ("more_than", "window", "by"),
    RuleKind.FEE: ("fee", "above", "below"),
    RuleKind.CREDITS_SHORT: ("budget", "per", "used_percent"),
    RuleKind.EXPIRY: ("within",),
}
"""The keys of figures that rules of a kind have, and no others."""

_NEEDED: Final[Mapping[RuleKind, tuple[str, ...]]] = {
    RuleKind.REJECTION_RATE: ("more_than", "window"),
    RuleKind.FEE: ("fee",),
    RuleKind.CREDITS_SHORT: ("budget", "per"),
    RuleKind.EXPIRY: ("within",),
}
USUAL_SHARE: Final = 80
"""Percent of a budget that a rule reports unless it says another share."""

_LIMITS: Final = ("above", "below")


def check_figures(kind: RuleKind, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what lacks or does not belong to a rule of this kind, as key and remark."""
    for key in (key for of_kind in FIGURES.values() for key in of_kind):
        if key in table and key not in FIGURES.get(kind, ()):
            owners = [each.value for each, keys in FIGURES.items() if key in keys]
            yield key, f"belongs to rules of kind {owners[0]}, and this one is {kind}: remove it"
    for key in _NEEDED.get(kind, ()):
        if key not in table:
            yield "", f"lacks {key}, which {kind} needs; add it"
    if kind is RuleKind.FEE and sum(key in table for key in _LIMITS) != 1:
        yield "", "needs above or below, one of the two: write the fee beyond which it reports"


def measure_of(kind: RuleKind, values: Mapping[str, Any]) -> RuleMeasure | None:
    """Return what a rule of a kind measures, from the values of its keys."""
    if kind is RuleKind.REJECTION_RATE:
        return RateMeasure(values["more_than"], values["window"], values.get("by"))
    if kind is RuleKind.FEE:
        limit = values.get("above", values.get("below"))
        return FeeMeasure(values["fee"], limit, is_upper="above" in values)
    if kind is RuleKind.CREDITS_SHORT:
        share = values.get("used_percent", USUAL_SHARE)
        return CreditMeasure(values["budget"], values["per"], share)
    return ExpiryMeasure(values["within"]) if kind is RuleKind.EXPIRY else None


def write_measure(measure: RuleMeasure | None) -> dict[str, Any]:
    """Return the keys that `measure_of` reads."""
    match measure:
        case RateMeasure(more_than, window, by):
            said = {"more_than": more_than, "window": write_duration(window)}
            return said if by is None else said | {"by": by.value}
        case FeeMeasure(signal, limit, is_upper):
            return {"fee": signal.value, "above" if is_upper else "below": write_fee(limit)}
        case CreditMeasure(budget, per, percent):
            return {"budget": budget, "per": per.value, "used_percent": percent}
        case ExpiryMeasure(within):
            return {"within": write_duration(within)}
        case _:
            return {}
