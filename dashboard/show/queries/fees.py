"""What the page Fees asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.domain.fee_rollup import FeeSeries
from dashboard.domain.gas import SuggestedGasFees
from dashboard.show.charts.fee_chart import fee_drawing
from dashboard.show.charts.fee_story import FeeStory
from dashboard.show.charts.line_charts import Drawing
from dashboard.show.queries.cache import Fresh
from dashboard.show.queries.network_status import Datum, NetworkCard, NetworkStatus
from dashboard.show.queries.source import Source
from dashboard.show.queries.store_reads import fee_story
from dashboard.show.time_ranges import Span, spans_worth_offering
from dashboard.store.fees.series import Between, first_seen_at
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
        between = Between(span.begins_at(now), now, span.step)
        with self._source.store.read() as connection:
            story = fee_story(connection, status.figures, kind, between)
        if story is None:
            return None
        drawing = fee_drawing(story, between.since, card.name, NAMES[kind])
        return FeeView(kind, story, drawing)
