"""The questions of the page Fees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import Struct

from dashboard.application.context import ApplicationSubject, TtlCache, shared_for
from dashboard.application.fee_timeline import (
    FeeMarks,
    FeeTimeline,
    longest_usual_pause,
    pause_edges,
)
from dashboard.application.network_status import (
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
    conclude_status,
    read_network_figures,
)
from dashboard.application.time_ranges import TimeRange, Zoom, offered_time_ranges
from dashboard.domain.alerts.condition import Signal
from dashboard.domain.fees.cheap_hours import UsualWeek, usual_week
from dashboard.domain.fees.gas import FeeSeries
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.alerts.incidents import opened_between
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.busy_context import SERIES, read_busy_time, read_hours, read_usual_fee
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.series import (
    ChartRange,
    FeeMeans,
    fee_means,
    fee_steps,
    first_seen_at,
    percentile_steps,
)
from dashboard.store.rejections.counts import Grouping, count_over_time

_SHARED_FOR: Final = timedelta(seconds=12)
"""How long all viewers share one figure. Replacing it more often would remove the label at the
pointer."""

_LONG_SHARED_FOR: Final = timedelta(minutes=5)
_LONG: Final = timedelta(days=2)
_LEAST_BESIDE: Final = timedelta(minutes=10)
_SECOND: Final = timedelta(seconds=1)
_TICKS: Final = 240
"""The most ticks of rejections side by side."""

_LINE_STEPS: Final = 240
"""The most steps of a line if several networks are drawn."""

_MOST_HOURS: Final = 20_000
"""The most hours that are read for all networks together."""


class FeeView(Struct, frozen=True):
    signal: Signal
    network_name: str
    step: timedelta
    timeline: FeeTimeline
    marks: FeeMarks

    @property
    def name(self) -> str:
        return self.signal.capitalize()

    @property
    def title(self) -> str:
        return f"{self.name} of {self.network_name}"


class NetworkLine(NamedTuple):
    """The fee of one network during a time range.

    `of` says which fee it is, `place` is the network's index among all networks, even if not all
    are drawn. `usual` is the usual fee at this hour or, unless `is_usual_known`, the median of the
    range. `unseen` are the edges [ms] of the times without a fee.
    """

    network_id: NetworkId
    name: str
    of: str
    steps: FeeMeans
    unseen: Integers
    usual: Wei
    is_usual_known: bool = True
    place: int = 0


class FeeLines(Struct, frozen=True):
    """The fees of several networks during a time; networks in `without` had no fee."""

    lines: Sequence[NetworkLine]
    since: datetime
    until: datetime
    without: tuple[str, ...] = ()


class Fees(ApplicationSubject):
    """The fees of networks as pages, commands and the API show them.

    All viewers share an answer: for some seconds, or for minutes if its time range is long.
    """

    @shared_for(_LONG_SHARED_FOR)
    def time_ranges(self, profiles: tuple[NetworkProfile, ...]) -> tuple[TimeRange, ...]:
        """Return the lengths of time for which any of the networks has data."""
        with self._context.store.read_recent() as connection:
            seen = [first_seen_at(connection, profile.network_id) for profile in profiles]
        first = min((at for at in seen if at is not None), default=None)
        return offered_time_ranges(first, self._context.now())

    def view(
        self, status: NetworkStatus, time_range: TimeRange, zoom: Zoom | None = None
    ) -> FeeView | None:
        """Return the fee that decides busyness, for a range up to now; None if there is none.

        It is the base fee, or the priority fee if the base fee never moves. `zoom` selects another
        time instead. A cached answer without fees expires when the first fee comes.
        """
        shown = zoom or time_range
        newest, since = status.figures.base_fee, _between(shown, self._context.now()).since
        has_newest = newest is not None and newest.asked_at >= since
        key = (status.profile.network_id, shown, status.figures.signal, has_newest)
        found: FeeView | None = self._cache("view", shown).get(
            key, lambda: self._read_view(status.figures, shown)
        )
        return found

    def current(self, profiles: Sequence[NetworkProfile]) -> list[NetworkStatus]:
        now = self._context.now()
        with self._context.store.read_recent() as connection:
            return [
                conclude_status(read_network_figures(connection, each, now), now)
                for each in profiles
            ]

    def timelines(
        self, statuses: Sequence[NetworkStatus], since: datetime, until: datetime, step: timedelta
    ) -> list[FeeTimeline | None]:
        """Return the base fee of each network over time; None if there is none."""
        between, series = ChartRange(since, until, step), FeeSeries.ESTIMATED_BASE_FEE
        with self._context.store.read_recent() as connection:
            return [
                read_fee_timeline(connection, each.figures, series, between) for each in statuses
            ]

    def usual_week(self, status: NetworkStatus, zone: tzinfo) -> UsualWeek:
        """Return the usual course of the fee that decides busyness through the week, in a zone."""
        hour = self._context.now().replace(minute=0, second=0, microsecond=0)
        return self._usual_week(status.profile.network_id, status.figures.signal, hour, zone)

    @shared_for(_LONG_SHARED_FOR)
    def _usual_week(
        self, network_id: NetworkId, signal: Signal, _hour: datetime, zone: tzinfo
    ) -> UsualWeek:
        now = self._context.now()
        with self._context.store.read_recent() as connection:
            return usual_week(read_hours(connection, network_id, SERIES[signal], now), zone, now)

    def lines(
        self, statuses: Sequence[NetworkStatus], places: Sequence[int], shown: TimeRange | Zoom
    ) -> FeeLines:
        """Return the fees that decide busyness, for several networks, for a range up to now.

        `places` are the indexes of the networks among all networks.
        """
        signals = ((each.profile.network_id, each.figures.signal) for each in statuses)
        key = (shown, *zip(signals, places, strict=True))
        found: FeeLines = self._cache("lines", shown).get(
            key, lambda: self._read_lines(statuses, places, shown)
        )
        return found

    def _cache(self, question: str, shown: TimeRange | Zoom) -> TtlCache[Any]:
        """Return the cache for a range, which keeps answers of long ranges for longer."""
        is_long = isinstance(shown, TimeRange) and shown.length > _LONG
        lifetime = _LONG_SHARED_FOR if is_long else _SHARED_FOR
        return self._context.shared((Fees, question, is_long), lifetime)

    def around(self, network_id: NetworkId, since: datetime, until: datetime) -> FeeView | None:
        """Return the fee that decides busyness during a time, and for a while before and after it.

        None if the network is not configured now, or if there is no fee.
        """
        profile = self._context.profile(network_id)
        if profile is None:
            return None
        now = self._context.now()
        beside = max((until - since) / 4, _LEAST_BESIDE)
        with self._context.store.read_recent() as connection:
            figures = read_network_figures(connection, profile, now)
        return self._read_view(figures, Zoom(since - beside, min(until + beside, now)))

    def _read_view(self, figures: NetworkFigures, shown: TimeRange | Zoom) -> FeeView | None:
        profile, between = figures.profile, _between(shown, self._context.now())
        with self._context.store.read_recent() as connection:
            timeline = read_fee_timeline(connection, figures, SERIES[figures.signal], between)
            marks = FeeMarks(
                _arrivals(connection, profile, between),
                _incidents(connection, profile.network_id, between),
            )
        if timeline is None:
            return None
        return FeeView(figures.signal, profile.name, between.step, timeline, marks)

    def _read_lines(
        self, statuses: Sequence[NetworkStatus], places: Sequence[int], shown: TimeRange | Zoom
    ) -> FeeLines:
        now = self._context.now()
        between = _beside_others(_between(shown, now), len(statuses))
        with self._context.store.read_recent() as connection:
            lines = [
                _line(connection, status, between, now, place)
                for status, place in zip(statuses, places, strict=True)
            ]
        pairs = list(zip(statuses, lines, strict=True))
        without = tuple(status.profile.name for status, line in pairs if line is None)
        seen = [line for _, line in pairs if line is not None]
        return FeeLines(seen, between.since, between.until, without)


def _line(
    connection: Connection, status: NetworkStatus, between: ChartRange, now: datetime, place: int
) -> NetworkLine | None:
    profile, signal = status.profile, status.figures.signal
    steps = fee_means(connection, profile.network_id, SERIES[signal], between)
    if not len(steps):
        return None
    usual = read_usual_fee(connection, profile.network_id, SERIES[signal], now)
    longest = max(longest_usual_pause(steps, profile.gas_period), between.step)
    return NetworkLine(
        profile.network_id,
        profile.name,
        signal,
        steps,
        pause_edges(steps, longest, between.since, between.until),
        Wei(int(np.median(steps.means))) if usual is None else usual.fee,
        usual is not None,
        place,
    )


def _beside_others(between: ChartRange, many: int) -> ChartRange:
    """Return the range with fewer steps, at most `_LINE_STEPS` for each of `many` lines.

    If all lines together have more than `_MOST_HOURS`, they are read by days.
    """
    length, step = between.until - between.since, between.step
    if many * length > _MOST_HOURS * timedelta(hours=1):
        step = max(step, timedelta(days=1))
    return between._replace(step=max(-(-length // _LINE_STEPS // step), 1) * step)


def _between(shown: TimeRange | Zoom, now: datetime) -> ChartRange:
    if isinstance(shown, Zoom):
        return ChartRange(shown.begins_at, shown.until, shown.step)
    return ChartRange(shown.begins_at(now), now, shown.step)


def _incidents(
    connection: Connection, network_id: NetworkId, between: ChartRange
) -> list[tuple[datetime, int]]:
    """Count the incidents of a network that opened, by tick."""
    width = max((between.until - between.since) / _TICKS, _SECOND)
    counted = Counter(
        between.since + (at - between.since) // width * width
        for at in opened_between(connection, network_id, between.since, between.until)
    )
    return sorted(counted.items())


def _arrivals(
    connection: Connection, profile: NetworkProfile, between: ChartRange
) -> list[tuple[datetime, int]]:
    """Count the rejections that arrived, by tick; empty for a time with too many to distinguish."""
    length = between.until - between.since
    if not profile.has_exclusion or length > _LONG:
        return []
    wanted = RejectionFilter(profile.network_id, since=between.since, until=between.until)
    counted = Counter[datetime]()
    step = max(length / _TICKS, _SECOND)
    for each in count_over_time(connection, wanted, step, Grouping.NETWORK):
        counted[each.since] += each.count
    return sorted(counted.items())


def read_fee_timeline(
    connection: Connection, figures: NetworkFigures, series: FeeSeries, between: ChartRange
) -> FeeTimeline | None:
    """Read a fee of a network over time; None if there is none."""
    profile = figures.profile
    steps = fee_steps(connection, profile.network_id, series, between)
    if not len(steps):
        return None
    usual, threshold = _levels(connection, figures, series, between, steps.first_at)
    usual_pause = longest_usual_pause(steps, profile.gas_period)
    return FeeTimeline(
        steps,
        usual,
        threshold,
        max(usual_pause, between.step),
        usual_pause,
        between.since,
        between.until,
        profile.value_time,
        read_busy_time(connection, profile.network_id, between.since, between.until),
    )


def _levels(
    connection: Connection,
    figures: NetworkFigures,
    series: FeeSeries,
    between: ChartRange,
    moments: Integers,
) -> tuple[Integers | None, Integers | None]:
    """Return the usual and the busy level at moments; for a priority fee, the current level."""
    if figures.priority is not None and series is SERIES[Signal.PRIORITY_FEE]:
        return None, np.full_like(moments, figures.priority.threshold)
    usual, threshold = (
        percentile_steps(connection, figures.profile.network_id, operation, between).at(moments)
        for operation in (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)
    )
    return usual, threshold
