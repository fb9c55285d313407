"""What the page Fees asks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from dashboard.domain.fee_rollup import FeeSeries
from dashboard.domain.grounds import Signal
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.show.charts.fee_chart import fee_drawing
from dashboard.show.charts.fee_timeline import BusyCounts, FeeTimeline, longest_usual_silence
from dashboard.show.charts.figure import Drawing
from dashboard.show.queries.cache import TtlCache
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.network_status import (
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
    read_network_figures,
)
from dashboard.show.time_ranges import TIME_RANGES, TimeRange, offered_time_ranges
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.busy_context import SERIES
from dashboard.store.fees.rollup_arrays import Integers
from dashboard.store.fees.series import ChartRange, fee_steps, first_seen_at, percentile_steps
from dashboard.store.rejections.counts import count_by_stage

_SHARED_FOR: Final = timedelta(seconds=12)
"""So long the same figure serves all viewers. Drawn anew it would take the pointer's label away."""

_LONG_SHARED_FOR: Final = timedelta(minutes=5)
_LONG: Final = timedelta(days=2)
_LEAST_BESIDE: Final = timedelta(minutes=10)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_TICKS: Final = 240
"""Ticks of rejections that lie side by side at most."""


@dataclass(frozen=True, slots=True)
class FeeView:
    """What a fee did during a time range, and the picture of it."""

    signal: Signal
    story: FeeTimeline
    drawing: Drawing

    @property
    def name(self) -> str:
        """What the fee is called on a page."""
        return self.signal.capitalize()


class FeeQueries:
    """Every answer may raise StoreError; what all viewers share is kept for a moment.

    Long time ranges are kept for minutes: their steps are longer still.
    """

    def __init__(self, context: QueryContext) -> None:
        """Ask nothing yet."""
        self._context = context
        self._time_ranges: TtlCache[tuple[TimeRange, ...]] = TtlCache(_LONG_SHARED_FOR, context.now)
        self._views: TtlCache[FeeView | None] = TtlCache(_SHARED_FOR, context.now)
        self._long_views: TtlCache[FeeView | None] = TtlCache(_LONG_SHARED_FOR, context.now)

    def time_ranges(self, profiles: tuple[NetworkProfile, ...]) -> tuple[TimeRange, ...]:
        """Return the lengths of time that show something of one of the networks."""
        return self._time_ranges.get(profiles, lambda: self._read_time_ranges(profiles))

    def view(self, status: NetworkStatus, time_range: TimeRange) -> FeeView | None:
        """Return the fee that decides busyness, during a range until now; None if none was seen.

        It is the base fee, or the priority fee where the base fee never moves.
        """
        views = self._long_views if time_range.length > _LONG else self._views
        key = (status.profile.network_id, time_range, status.figures.signal)
        return views.get(key, lambda: self._read_view(status, time_range))

    def around(
        self, network_id: NetworkId, since: datetime, until: datetime, margin: float = 0.25
    ) -> FeeView | None:
        """Return the fee that decides busyness while something lasted, and a part of that around.

        None for a network that is not watched now, or where no fee was seen.
        """
        profile = self._context.profile(network_id)
        if profile is None:
            return None
        now = self._context.now()
        beside = max((until - since) * margin, _LEAST_BESIDE)
        begins, ends = since - beside, min(until + beside, now)
        fitting = (each for each in TIME_RANGES if each.length >= ends - begins)
        step = next(fitting, TIME_RANGES[-1]).step
        between = ChartRange(begins - (begins - _EPOCH) % step, ends, step)
        with self._context.store.read() as connection:
            figures = read_network_figures(connection, profile, now)
            story = read_fee_story(connection, figures, SERIES[figures.signal], between)
        if story is None:
            return None
        name = figures.signal.capitalize()
        return FeeView(figures.signal, story, fee_drawing(story, between.since, profile.name, name))

    def _read_time_ranges(self, profiles: tuple[NetworkProfile, ...]) -> tuple[TimeRange, ...]:
        with self._context.store.read() as connection:
            seen = [first_seen_at(connection, profile.network_id) for profile in profiles]
        first = min((at for at in seen if at is not None), default=None)
        return offered_time_ranges(first, self._context.now())

    def _read_view(self, status: NetworkStatus, time_range: TimeRange) -> FeeView | None:
        profile, signal, now = status.profile, status.figures.signal, self._context.now()
        between = ChartRange(time_range.begins_at(now), now, time_range.step)
        with self._context.store.read() as connection:
            story = read_fee_story(connection, status.figures, SERIES[signal], between)
            arrivals = _arrivals(connection, profile, between)
        if story is None:
            return None
        name = signal.capitalize()
        drawing = fee_drawing(story, between.since, profile.name, name, arrivals)
        return FeeView(signal, story, drawing)


def _arrivals(
    connection: Connection, profile: NetworkProfile, between: ChartRange
) -> list[tuple[datetime, int]]:
    """Count the rejections that arrived, by ticks; none for a time with more than can be told."""
    length = between.until - between.since
    if not profile.has_exclusion or length > _LONG:
        return []
    wanted = RejectionFilter(profile.network_id, since=between.since, until=between.until)
    counted = Counter[datetime]()
    for each in count_by_stage(connection, wanted, max(length / _TICKS, _SECOND)):
        counted[each.since] += each.count
    return sorted(counted.items())


def read_fee_story(
    connection: Connection, figures: NetworkFigures, kind: FeeSeries, between: ChartRange
) -> FeeTimeline | None:
    """Read what a fee of a network did, None where none was seen.

    Busy time is counted by the base fee: where that never moves, it is not counted.
    """
    profile = figures.profile
    steps = fee_steps(connection, profile.network_id, kind, between)
    if not len(steps):
        return None
    busy = None
    if figures.priority is None:
        counted = fee_steps(connection, profile.network_id, FeeSeries.IS_BUSY, between)
        busy = BusyCounts.of(steps, counted)
    usual, threshold = _levels(connection, figures, between, steps.first_at)
    silence = longest_usual_silence(steps, profile.gas_period)
    return FeeTimeline(
        steps,
        usual,
        threshold,
        max(silence, between.step),
        silence,
        between.since,
        between.until,
        profile.value_time,
        busy,
    )


def _levels(
    connection: Connection, figures: NetworkFigures, between: ChartRange, moments: Integers
) -> tuple[Integers | None, Integers | None]:
    """Return the usual and the busy level at moments; of a priority fee, the level of now."""
    if figures.priority is not None:
        return None, np.full_like(moments, figures.priority.threshold)
    usual, threshold = (
        percentile_steps(connection, figures.profile.network_id, operation, between).at(moments)
        for operation in (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)
    )
    return usual, threshold
