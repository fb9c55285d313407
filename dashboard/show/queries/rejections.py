"""What the page Rejections asks: counts through time and by module, a page of rows, a CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from dashboard.domain.exclusion import RejectionStage, StoredRejection
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason_explanation import explain
from dashboard.domain.reason_labels import Named
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.domain.search import parse_search
from dashboard.domain.spreadsheet import write_csv
from dashboard.show.queries.cache import TtlCache
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.coverage_gaps import Stretch, overlap, unwatched
from dashboard.show.text import moment
from dashboard.store.rejections.counts import (
    GroupCounts,
    StageCount,
    count_by_stage,
    count_causes,
    count_rejections,
    rank_senders,
)
from dashboard.store.rejections.search import search_page
from dashboard.store.rejections.unparsed_reasons import UnparsedReason, unparsed_reasons

MOST_EXPORTED: Final = 20_000
"""Rejections in one CSV file."""

MOST_UNKNOWN: Final = 20
"""Unknown texts that are listed."""

MOST_SENDERS: Final = 10
"""Senders that are ranked."""

_LABEL: Final = "label:"
_SHARED_FOR: Final = timedelta(seconds=2)
_ENOUGH: Final = 0.98
_HALF: Final = 0.5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """A length of time that ends now, counted in steps of equal length; `words` name its length."""

    words: str
    length: timedelta
    step: timedelta

    def steps(self, now: datetime) -> list[datetime]:
        """Return where each step begins, oldest first; the last one contains now."""
        last = now - (now - _EPOCH) % self.step
        count = self.length // self.step
        return [last - self.step * (count - 1 - number) for number in range(count)]


PERIODS: Final = {
    "1 h": Period("hour", timedelta(hours=1), timedelta(minutes=2)),
    "24 h": Period("24 h", timedelta(hours=24), timedelta(hours=1)),
    "7 d": Period("7 days", timedelta(days=7), timedelta(hours=6)),
    "30 d": Period("30 days", timedelta(days=30), timedelta(days=1)),
    "1 y": Period("year", timedelta(days=371), timedelta(days=7)),
}
"""The lengths of time to choose from, by the names that the address keeps."""


@dataclass(frozen=True, slots=True)
class WatchedTime:
    """How much of a time was watched."""

    length: timedelta
    watched: timedelta

    @property
    def is_whole(self) -> bool:
        """Whether it can be compared with another time; a restart or two do not matter."""
        return self.watched >= _ENOUGH * self.length


@dataclass(frozen=True, slots=True)
class RejectionSummary:
    """The rejections of a period, counted; `before` is how many the period before it had.

    `steps` are the begins of all steps, oldest first, each with its count for each stage;
    `unwatched` are those of which half or more was not watched. `now` and `earlier` say how much
    of the period was watched, and of the one before.
    """

    total: int
    before: int
    steps: Sequence[tuple[datetime, Mapping[RejectionStage, int]]]
    stages: Counter[RejectionStage]
    named: Counter[Named]
    unwatched: frozenset[datetime]
    now: WatchedTime
    earlier: WatchedTime


def rejection_filter(
    context: QueryContext, network_id: NetworkId | None, text: str
) -> RejectionFilter:
    """Read what a person types to find rejections, of one network or all.

    It may be hashes, an address, a network, a whole label, or words that stand on the page.
    """
    if text.startswith(_LABEL):
        return RejectionFilter(network_id, label=text.removeprefix(_LABEL).strip())
    found = parse_search(text)
    network_id, words = context.search_scope(network_id, found.words)
    return RejectionFilter(
        network_id,
        sender=found.sender,
        tx_hashes=found.tx_hashes,
        search=words,
        beginning=found.beginning,
    )


class RejectionListQueries:
    """Every answer may raise StoreError; summaries are kept for moments and shared."""

    def __init__(self, context: QueryContext) -> None:
        """Ask nothing yet."""
        self._context = context
        self._summaries: TtlCache[RejectionSummary] = TtlCache(_SHARED_FOR, context.now)
        self._senders: TtlCache[GroupCounts] = TtlCache(_SHARED_FOR, context.now)

    def summary(self, wanted: RejectionFilter, period: Period) -> RejectionSummary:
        """Count what fits in the period that ends now."""
        return self._summaries.get((wanted, period), lambda: self._summarise(wanted, period))

    def page(
        self, wanted: RejectionFilter, period: Period, number: int, rows: int
    ) -> tuple[StoredRejection, ...]:
        """Return one page of what fits in the period, counted from 1, the latest first."""
        wanted = replace(wanted, since=period.steps(self._context.now())[0])
        with self._context.store.read() as connection:
            return tuple(search_page(connection, wanted, rows, (number - 1) * rows))

    def senders(self, wanted: RejectionFilter, period: Period) -> GroupCounts:
        """Rank the senders of the latest that fit in the period, those rejected most first."""
        return self._senders.get((wanted, period), lambda: self._rank(wanted, period))

    def unknown_reasons(self, network_id: NetworkId | None) -> tuple[UnparsedReason, ...]:
        """Return the texts of reasons that could not be read, ever, the commonest first."""
        with self._context.store.read() as connection:
            return tuple(unparsed_reasons(connection, MOST_UNKNOWN, network_id))

    def _rank(self, wanted: RejectionFilter, period: Period) -> GroupCounts:
        within = replace(wanted, since=period.steps(self._context.now())[0])
        with self._context.store.read() as connection:
            return rank_senders(connection, within, MOST_SENDERS)

    def _summarise(self, wanted: RejectionFilter, period: Period) -> RejectionSummary:
        now = self._context.now()
        steps = period.steps(now)
        begins = steps[0] - period.step * len(steps)
        within = replace(wanted, since=steps[0])
        earlier = replace(wanted, since=begins, until=steps[0] - timedelta(milliseconds=1))
        with self._context.store.read() as connection:
            arrived = count_by_stage(connection, within, period.step)
            named = Counter(
                {
                    (each.reason_kind, each.module): each.count
                    for each in count_causes(connection, within)
                }
            )
            before = count_rejections(connection, earlier)
            missed = unwatched(connection, self._counted_networks(wanted), begins, now)
        stages = Counter[RejectionStage]()
        for each in arrived:
            stages[each.tx_rejection_stage] += each.count
        return RejectionSummary(
            stages.total(),
            before,
            _by_step(steps, arrived),
            stages,
            named,
            frozenset(each for each in steps if _is_missed(each, period.step, missed, now)),
            _watched(missed, steps[0], now),
            _watched(missed, begins, steps[0]),
        )

    def _counted_networks(self, wanted: RejectionFilter) -> list[NetworkId]:
        """Return the networks whose rejections are counted."""
        if wanted.network_id is not None:
            return [wanted.network_id]
        return [each.network_id for each in self._context.networks if each.has_exclusion]


def _watched(missed: Sequence[Stretch], since: datetime, until: datetime) -> WatchedTime:
    length = until - since
    return WatchedTime(length, length - overlap(missed, since, until))


def _is_missed(begins: datetime, step: timedelta, missed: Sequence[Stretch], now: datetime) -> bool:
    length = min(begins + step, now) - begins
    missing = overlap(missed, begins, begins + length)
    return missing > timedelta() and missing >= _HALF * length


def _by_step(
    steps: Sequence[datetime], arrived: Sequence[StageCount]
) -> list[tuple[datetime, Mapping[RejectionStage, int]]]:
    counts = {begins: Counter[RejectionStage]() for begins in steps}
    for each in arrived:
        counts.setdefault(each.since, Counter())[each.tx_rejection_stage] += each.count
    return [(begins, counts[begins]) for begins in sorted(counts)]


_CSV_COLUMNS: Final = (
    "network_id",
    "network",
    "is_simulated",
    "tx_hash",
    "sender",
    "nonce",
    "stage",
    "module",
    "lines_needed",
    "lines_allowed",
    "why",
    "reason_as_sent",
    "dated_by_the_node",
    "first_seen_here",
    "block_number",
)


def rejections_csv(rejections: Iterable[StoredRejection], context: QueryContext) -> str:
    """Write one line for each rejection, with the reason in words and as it was sent."""
    return write_csv(_CSV_COLUMNS, (_csv_row(each, context) for each in rejections))


def _csv_row(stored: StoredRejection, context: QueryContext) -> tuple[str | int | None, ...]:
    record = stored.record
    reason = context.reason_of(stored)
    return (
        stored.network_id,
        context.network_name(stored.network_id),
        "yes" if context.is_simulated(stored.network_id) else "no",
        str(record.tx_hash),
        str(record.sender),
        record.nonce,
        record.tx_rejection_stage,
        reason.module,
        reason.count,
        reason.limit,
        explain(reason),
        record.reason_message,
        moment(record.timestamp),
        moment(stored.first_seen_at),
        record.block_number,
    )
