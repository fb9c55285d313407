"""The part of a message about a busy network that says what is known around its fee."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Final

from dashboard.alert.fee_chart import ChartPoint, draw_chart
from dashboard.domain.fees.gas import FeeSuggestion
from dashboard.domain.fees.spells import USUAL_WINDOW, BusyContext, UsualSpells
from dashboard.domain.formatting import capitalized, compared, fee, moment_in, span

_FEWEST_POINTS: Final = 3
_WIDEST_GAP: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class BusyText:
    """What a message says around a fee that is high; what is not known is empty.

    `levels` are rows of level, priority fee and whole fee. `chart` is a PNG, and `chart_says` the
    same in words. How long each level waits is set by hand upstream, so it is no advice.
    """

    levels: tuple[tuple[str, str, str], ...] = ()
    suggested_at: str = ""
    usual: str = ""
    chart: bytes = b""
    chart_says: str = ""

    @property
    def preheader(self) -> str:
        """What mail programs show beside the subject."""
        medium = [whole for level, _, whole in self.levels if level == "medium"]
        return " ".join([*(f"Suggested now: {each} (medium)." for each in medium), self.usual])


def describe_busy(context: BusyContext, zone: tzinfo) -> BusyText:
    """Say what is known around the moment at which a network became busy."""
    asked_at = context.suggested_at
    return BusyText(
        levels=_levels(context),
        suggested_at="" if asked_at is None else moment_in(asked_at, zone),
        usual="" if context.usual is None else _usual(context.usual),
        chart=_chart(context),
        chart_says=_chart_says(context),
    )


def _levels(context: BusyContext) -> tuple[tuple[str, str, str], ...]:
    if context.suggested is None:
        return ()
    named = {"low": context.suggested.low, "medium": context.suggested.medium}
    named["high"] = context.suggested.high
    return tuple(_level(name, each) for name, each in named.items())


def _level(name: str, suggestion: FeeSuggestion) -> tuple[str, str, str]:
    priority = " ".join(fee(suggestion.suggested_max_priority_fee_per_gas))
    whole = " ".join(fee(suggestion.suggested_max_fee_per_gas))
    return name, priority, whole


def _usual(usual: UsualSpells) -> str:
    return (
        f"{capitalized(usual.in_words())}, the median of the {usual.many} in the last "
        f"{USUAL_WINDOW.days} days; the longest lasted {span(usual.longest)}."
    )


def _chart(context: BusyContext) -> bytes:
    if len(context.fees) < _FEWEST_POINTS:
        return b""
    length = context.until - context.since
    points = [ChartPoint((each.at - context.since) / length, each.highest) for each in context.fees]
    return draw_chart(points, context.grounds.threshold, _WIDEST_GAP / length)


def _chart_says(context: BusyContext) -> str:
    if len(context.fees) < _FEWEST_POINTS:
        return ""
    lowest, highest, unit = compared(
        min(each.lowest for each in context.fees), max(each.highest for each in context.fees)
    )
    threshold = " ".join(fee(context.grounds.threshold))
    between = f"{lowest} {unit}" if lowest == highest else f"{lowest} to {highest} {unit}"
    length = span(context.until - context.since)
    return (
        f"The {context.grounds.signal} of the last {length}: {between}. "
        f"The dashed line is the threshold now, {threshold}."
    )
