"""How fees are listed: current figures, or the steps of a time range."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import repeat
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct

from dashboard.application.context import ApplicationContext
from dashboard.application.fee_timeline import FeeTimeline
from dashboard.application.listing import Column, Json, Listing, for_programs, instant, time_column
from dashboard.application.network_status import (
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
    PolledValue,
)
from dashboard.application.text import age, exact_fee
from dashboard.domain.fees.busy_spells import Spell
from dashboard.domain.fees.gas import FeeSuggestion
from dashboard.domain.formatting import fee, share, share_or_less
from dashboard.domain.health.coverage import WatchedTime
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.series import FeeStep

T = TypeVar("T")


class FeeFigure(Struct, frozen=True):
    """One figure of a network in words; `exact` and `age` are empty if there is none."""

    network: str
    name: str
    value: str
    exact: str = ""
    age: str = ""


FIGURES: Final[Listing[FeeFigure]] = Listing(
    "figures",
    (
        Column("figure", lambda each: each.name),
        Column("value", lambda each: each.value),
        Column("exactly", lambda each: each.exact),
        Column("age", lambda each: each.age),
    ),
)
"""The figures of one network."""

FIGURES_OF_ALL: Final[Listing[FeeFigure]] = Listing(
    "figures", (Column("network", lambda each: each.network), *FIGURES.columns)
)


def fee_figures(
    status: NetworkStatus, context: ApplicationContext, now: datetime
) -> Iterator[FeeFigure]:
    figures = status.figures
    network = context.label(figures.profile.network_id)
    for name, datum in (
        ("base fee", figures.base_fee),
        ("median base fee", figures.base_fee_percentile),
        ("busy threshold", figures.busy_threshold),
    ):
        if datum is not None:
            yield FeeFigure(network, name, *_words(datum.value), _age(datum, now))
    congestion = figures.network_congestion
    if congestion is not None:
        words = share(congestion.value)
        yield FeeFigure(network, "congestion", words, age=_age(congestion, now))
    asked = "" if figures.suggested is None else _age(figures.suggested, now)
    for name, level in _levels(figures):
        tip, most = level.suggested_max_priority_fee_per_gas, level.suggested_max_fee_per_gas
        yield FeeFigure(network, f"{name} priority fee", *_words(tip), asked)
        yield FeeFigure(network, f"{name} max fee", *_words(most), asked)


def fees_form(status: NetworkStatus) -> dict[str, Json]:
    """Format the figures of a network for programs."""
    figures = status.figures
    congestion = figures.network_congestion
    return {
        **status.profile.form(),
        "activity": str(status.activity),
        "activityReason": status.activity_reason,
        "source": str(figures.gas_source),
        "estimatedBaseFee": _datum_form(figures.base_fee),
        "baseFeePercentile": _datum_form(figures.base_fee_percentile),
        "busyThreshold": _datum_form(figures.busy_threshold),
        "networkCongestion": None if congestion is None else congestion.value,
        **dict.fromkeys(("low", "medium", "high")),
        **{name: _level_form(level) for name, level in _levels(figures)},
    }


class ListedStep(NamedTuple):
    """One step of a network's base fee; `busy` is its busy share, NaN if unknown."""

    network: str
    step: FeeStep
    busy: float


def _fee_column(
    name: str, key: str, of: Callable[[FeeStep], Wei], words: Callable[[Wei], str]
) -> Column[ListedStep]:
    """Return a column with a fee of a step; programs get it in wei."""
    return Column(name, lambda each: words(of(each.step)), key, lambda each: str(of(each.step)))


def _short(wei: Wei) -> str:
    return " ".join(fee(wei))


STEPS: Final[Listing[ListedStep]] = Listing(
    "baseFees",
    (
        Column("network", lambda each: each.network),
        time_column("from", "from", lambda each: each.step.first_at),
        time_column("to", "to", lambda each: each.step.last_at),
        _fee_column("lowest", "lowest", lambda step: step.lowest, exact_fee),
        _fee_column("median", "median", lambda step: step.median, _short),
        _fee_column("90th percentile", "p90", lambda step: step.p90, _short),
        _fee_column("highest", "highest", lambda step: step.highest, exact_fee),
        Column("values", lambda each: each.step.values, "values"),
        for_programs("valuesWithEstimatedTime", lambda each: each.step.estimated),
        for_programs("longestGap", lambda each: each.step.longest_gap // timedelta(milliseconds=1)),
        Column(
            "busy",
            lambda each: "" if math.isnan(each.busy) else share_or_less(each.busy),
            "busyShare",
            lambda each: None if math.isnan(each.busy) else each.busy,
        ),
    ),
    "No base fee was seen in that time.",
)


class FiledStep(NamedTuple):
    """One step in a file, with the levels at that time, None if they are unknown."""

    network_id: NetworkId
    step: FeeStep
    usual: Wei | None
    threshold: Wei | None
    busy: float

    @property
    def mean(self) -> int:
        """The mean, exact if all values are equal."""
        step = self.step
        return step.lowest if step.lowest == step.highest else round(step.mean)


STEPS_FILE: Final[Listing[FiledStep]] = Listing(
    "baseFees",
    (
        Column("network_id", lambda each: each.network_id),
        Column("first_at", lambda each: each.step.first_at.isoformat()),
        Column("last_at", lambda each: each.step.last_at.isoformat()),
        Column("lowest", lambda each: each.step.lowest, unit="wei"),
        Column("highest", lambda each: each.step.highest, unit="wei"),
        Column("mean", lambda each: each.mean, unit="wei"),
        Column("median", lambda each: each.step.median, unit="wei"),
        Column("p90", lambda each: each.step.p90, unit="wei"),
        Column("values", lambda each: each.step.values),
        Column("values_with_estimated_time", lambda each: each.step.estimated),
        Column(
            "longest_gap",
            lambda each: f"{each.step.longest_gap.total_seconds():g}",
            unit="seconds",
        ),
        Column("base_fee_percentile", lambda each: each.usual, unit="wei"),
        Column("busy_threshold", lambda each: each.threshold, unit="wei"),
        Column("busy_share", lambda each: "" if math.isnan(each.busy) else f"{each.busy:.6g}"),
    ),
)
"""The steps of a chart as a file for programs, with exact values."""


def fee_csv(timeline: FeeTimeline, network_id: NetworkId) -> str:
    """Format the steps as CSV, oldest first: times in UTC, fees in whole wei."""
    columns = zip(
        timeline.steps,
        _levels_at(timeline.usual),
        _levels_at(timeline.threshold),
        timeline.busy_parts.tolist(),
        strict=False,
    )
    return STEPS_FILE.csv(FiledStep(network_id, *each) for each in columns)


def _levels_at(levels: Integers | None) -> Iterable[Wei | None]:
    return repeat(None) if levels is None else map(Wei, levels.tolist())


def listed_steps(network: str, timeline: FeeTimeline | None) -> list[ListedStep]:
    if timeline is None:
        return []
    parts = zip(timeline.steps, timeline.busy_parts.tolist(), strict=True)
    return [ListedStep(network, step, part) for step, part in parts]


def timeline_form(profile: NetworkProfile, timeline: FeeTimeline | None) -> dict[str, Json]:
    """Format the base fee of a network over time for programs."""
    busy = None if timeline is None else timeline.busy
    return {
        **profile.form(),
        "busyShare": None if busy is None else busy.share,
        "watchedShare": None if busy is None else _watched_share(busy.watched),
        "busySpells": [] if busy is None else [_spell_form(each) for each in busy.spells],
        STEPS.key: STEPS.forms(listed_steps(profile.name, timeline)),
    }


def _words(wei: Wei) -> tuple[str, str]:
    return _short(wei), exact_fee(wei)


def _age(datum: PolledValue[T], now: datetime) -> str:
    stale = ", stale" if datum.is_stale(now) else ""
    return f"{age(datum.asked_at, now)}{stale}"


def _levels(figures: NetworkFigures) -> Iterator[tuple[str, FeeSuggestion]]:
    if figures.suggested is not None:
        fees = figures.suggested.value
        yield from (("low", fees.low), ("medium", fees.medium), ("high", fees.high))


def _datum_form(datum: PolledValue[Wei] | None) -> Json:
    if datum is None:
        return None
    return {"wei": str(datum.value), "askedAt": instant(datum.asked_at)}


def _level_form(level: FeeSuggestion) -> Json:
    return {
        "suggestedMaxPriorityFeePerGas": str(level.suggested_max_priority_fee_per_gas),
        "suggestedMaxFeePerGas": str(level.suggested_max_fee_per_gas),
    }


def _watched_share(watched: WatchedTime | None) -> float:
    """Return which share of a time was watched; zero if nobody ever did."""
    return 0.0 if watched is None else watched.watched / watched.length


def _spell_form(spell: Spell) -> Json:
    return {
        "from": instant(spell.begins_at),
        "to": instant(spell.ends_at),
        "isEndKnown": spell.is_end_known,
    }
