"""What the page Fees asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from dashboard.domain.fee_rollup import FeeSeries
from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.observation import Operation
from dashboard.show.charts.fee_chart import fee_drawing
from dashboard.show.charts.fee_story import BusyCounts, FeeStory, longest_usual_silence
from dashboard.show.charts.figure import Drawing
from dashboard.show.queries.cache import Fresh
from dashboard.show.queries.context import Source
from dashboard.show.queries.network_status import Datum, NetworkCard, NetworkFigures, NetworkStatus
from dashboard.show.time_ranges import Span, spans_worth_offering
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.rollup_arrays import Integers
from dashboard.store.fees.series import ChartRange, fee_steps, first_seen_at, percentile_steps
from dashboard.store.observations import latest_gas

_SHARED_FOR: Final = timedelta(seconds=1)
_LONG_SHARED_FOR: Final = timedelta(minutes=5)
_LONG: Final = timedelta(days=2)

NAMES: Final = {
    FeeSeries.ESTIMATED_BASE_FEE: "Base fee",
    FeeSeries.MEDIUM_MAX_PRIORITY_FEE: "Medium priority fee",
}
"""What each fee is called on a page."""


@dataclass(frozen=True, slots=True)
class FeeView:
    """What a fee did during a span, and the picture of it."""

    kind: FeeSeries
    story: FeeStory
    drawing: Drawing


class FeeQuestions:
    """Every answer may raise StoreError; what all viewers share is kept for a moment.

    Long spans are kept for minutes: their steps are longer still.
    """

    def __init__(self, source: Source) -> None:
        """Ask nothing yet."""
        self._source = source
        self._suggested: Fresh[Datum[SuggestedGasFees] | None] = Fresh(_SHARED_FOR, source.now)
        self._spans: Fresh[tuple[Span, ...]] = Fresh(_LONG_SHARED_FOR, source.now)
        self._views: Fresh[FeeView | None] = Fresh(_SHARED_FOR, source.now)
        self._long_views: Fresh[FeeView | None] = Fresh(_LONG_SHARED_FOR, source.now)

    def suggested(self, card: NetworkCard) -> Datum[SuggestedGasFees] | None:
        """Return the latest suggested fees of a network, None where there never were any."""
        return self._suggested.get(card.network_id, lambda: self._read_suggested(card))

    def spans(self, cards: tuple[NetworkCard, ...]) -> tuple[Span, ...]:
        """Return the lengths of time that show something of one of the networks."""
        return self._spans.get(cards, lambda: self._read_spans(cards))

    def view(self, status: NetworkStatus, span: Span) -> FeeView | None:
        """Return the fee that tells busyness, during the last `span`; None where none was seen.

        It is the base fee, or the priority fee where the base fee never moves.
        """
        views = self._long_views if span.length > _LONG else self._views
        kind = FeeSeries.ESTIMATED_BASE_FEE
        if status.figures.priority is not None:
            kind = FeeSeries.MEDIUM_MAX_PRIORITY_FEE
        key = (status.card.network_id, span, kind)
        return views.get(key, lambda: self._read_view(status, span, kind))

    def _read_suggested(self, card: NetworkCard) -> Datum[SuggestedGasFees] | None:
        with self._source.store.read() as connection:
            latest = latest_gas(connection, card.network_id, self._source.now()).suggested_gas_fees
        return None if latest is None else Datum(latest.value, latest.asked_at, card.gas_period)

    def _read_spans(self, cards: tuple[NetworkCard, ...]) -> tuple[Span, ...]:
        with self._source.store.read() as connection:
            seen = [first_seen_at(connection, card.network_id) for card in cards]
        first = min((at for at in seen if at is not None), default=None)
        return spans_worth_offering(first, self._source.now())

    def _read_view(self, status: NetworkStatus, span: Span, kind: FeeSeries) -> FeeView | None:
        card, now = status.card, self._source.now()
        between = ChartRange(span.begins_at(now), now, span.step)
        with self._source.store.read() as connection:
            story = read_fee_story(connection, status.figures, kind, between)
        if story is None:
            return None
        drawing = fee_drawing(story, between.since, card.name, NAMES[kind])
        return FeeView(kind, story, drawing)


def read_fee_story(
    connection: Connection, figures: NetworkFigures, kind: FeeSeries, between: ChartRange
) -> FeeStory | None:
    """Read what a fee of a network did, None where none was seen.

    Busy time is counted by the base fee: where that never moves, it is not counted.
    """
    card = figures.card
    steps = fee_steps(connection, card.network_id, kind, between)
    if not len(steps):
        return None
    busy = None
    if figures.priority is None:
        counted = fee_steps(connection, card.network_id, FeeSeries.IS_BUSY, between)
        busy = BusyCounts.of(steps, counted)
    usual, threshold = _levels(connection, figures, between, steps.first_at)
    silence = longest_usual_silence(steps, card.gas_period)
    return FeeStory(
        steps,
        usual,
        threshold,
        max(silence, between.step),
        silence,
        between.since,
        between.until,
        card.value_time,
        busy,
    )


def _levels(
    connection: Connection, figures: NetworkFigures, between: ChartRange, moments: Integers
) -> tuple[Integers | None, Integers | None]:
    """Return the usual and the busy level at moments; of a priority fee, the level of now."""
    if figures.priority is not None:
        return None, np.full_like(moments, figures.priority.threshold)
    usual, threshold = (
        percentile_steps(connection, figures.card.network_id, operation, between).at(moments)
        for operation in (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)
    )
    return usual, threshold
