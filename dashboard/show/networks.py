"""What a page says of a network: its figures, each with its age, and whether it is busy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Generic, TypeVar

from dashboard.detect.gas import Busyness, FeeReadings, conclude_busyness
from dashboard.domain.fee_windows import RankedFees
from dashboard.domain.grounds import FeeGrounds
from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.observation import GasSource, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.show.text import age, fee, span
from dashboard.store.failing import StandingFailure

T = TypeVar("T")

_STALE_AFTER_PERIODS: Final = 2
_LARGEST_LEAD: Final = timedelta(seconds=5)
"""How far ahead of ours another process may read the time; more is a clock that was set."""

_GAS_OPERATIONS: Final = set(Operation) - {
    Operation.EXCLUSION_STATUS,
    Operation.TRANSACTION_RECEIPT,
}


@dataclass(frozen=True, slots=True)
class NetworkCard:
    """What wiring tells the pages of one network.

    `gas_source` names who is asked first for fees; `gas_period` is how often fees are asked for,
    `threshold_period` how often percentile and threshold are, `history_period` how often the
    base fees of past blocks. `module_limits` tell the limit that a reason leaves out.
    `sees_all_reports` is true where nodes report to our own serve, so
    that rejections cover more than tracked hashes. `planned_credits` are what its fees cost a day.
    """

    network_id: NetworkId
    name: str
    is_simulated: bool
    gas_period: timedelta
    threshold_period: timedelta
    has_gas: bool = True
    has_exclusion: bool = True
    gas_source: str = "the gas API"
    sees_all_reports: bool = False
    module_limits: ModuleLimits | None = None
    history_period: timedelta = timedelta(minutes=10)
    planned_credits: int = 0


@dataclass(frozen=True, slots=True)
class Datum(Generic[T]):
    """One value with the moment it was asked for and the period in which it is asked anew."""

    value: T
    asked_at: datetime
    period: timedelta

    def is_stale(self, now: datetime) -> bool:
        """Whether it is older than two of its own poll periods, or dated in the future."""
        is_past = now - self.asked_at > _STALE_AFTER_PERIODS * self.period
        return is_past or self.is_future(now)

    def is_future(self, now: datetime) -> bool:
        """Whether a clock that was ahead dated it, so that its true age is unknown."""
        return self.asked_at - now > _LARGEST_LEAD


class Activity(StrEnum):
    """Whether a network is busy, as far as fresh data tells."""

    BUSY = "busy"
    CALM = "calm"
    FLAT_FEE = "flat fee"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NetworkFigures:
    """The latest value of each figure of a network; what was never seen is None.

    `recent` are the base fees of the last hour with their times, oldest first. `failures` are
    the questions that get no answer now; their messages are safe to show. `gas_source` is who
    told the latest base fee. `priority` is the priority fee beside its usual highest, and tells
    busyness where the base fee never moves.
    """

    card: NetworkCard
    base_fee: Datum[Wei] | None = None
    base_fee_percentile: Datum[Wei] | None = None
    busy_threshold: Datum[Wei] | None = None
    network_congestion: Datum[float] | None = None
    recent: Sequence[tuple[datetime, Wei]] = ()
    failures: Sequence[StandingFailure] = ()
    gas_source: GasSource = GasSource.GAS_API
    priority: FeeGrounds | None = None

    def gas_source_name(self) -> str:
        """Say who told the latest base fee."""
        match self.gas_source:
            case GasSource.GAS_API:
                return self.card.gas_source
            case GasSource.NODE:
                return "the network's node"
            case GasSource.NODE_INSTEAD:
                return f"the network's node, since {self.card.gas_source} does not answer"
            case GasSource.DEMO_HISTORY:
                return "linewatch demo-history, which makes them up"

    def gas_failure(self) -> StandingFailure | None:
        """Return the gas question that was not answered for the longest time."""
        return self._longest(_GAS_OPERATIONS)

    def exclusion_failure(self) -> StandingFailure | None:
        """Return why nothing is heard of rejections, or None where all is well."""
        return self._longest({Operation.EXCLUSION_STATUS})

    def _longest(self, operations: Collection[Operation]) -> StandingFailure | None:
        of_kind = (failure for failure in self.failures if failure.operation in operations)
        return min(of_kind, key=lambda failure: failure.failing_since, default=None)


@dataclass(frozen=True, slots=True)
class NetworkStatus:
    """The figures of a network with what follows from them at one moment.

    `activity_reason` says in one sentence what the activity rests on, or why there is none.
    """

    figures: NetworkFigures
    activity: Activity
    activity_reason: str

    @property
    def card(self) -> NetworkCard:
        """The network that this is about."""
        return self.figures.card

    @property
    def has_flat_fee(self) -> bool:
        """Whether its base fee never moves."""
        return self.figures.priority is not None or self.activity is Activity.FLAT_FEE


def conclude_status(figures: NetworkFigures, now: datetime) -> NetworkStatus:
    """Say whether a network is busy, or why that cannot be said."""
    return NetworkStatus(figures, *_activity(figures, now))


def _activity(figures: NetworkFigures, now: datetime) -> tuple[Activity, str]:
    if not figures.card.has_gas:
        return (
            Activity.UNKNOWN,
            "No gas API and no node is configured, so busyness is not watched here.",
        )
    if figures.base_fee is None:
        return Activity.UNKNOWN, "No base fee was seen yet; the first poll brings it."
    for datum in (figures.base_fee, figures.busy_threshold):
        if datum is not None and datum.is_stale(now):
            return Activity.STALE, _stale_reason(datum, now)
    return _fresh_activity(figures, figures.base_fee.value, now)


def _fresh_activity(figures: NetworkFigures, base_fee: Wei, now: datetime) -> tuple[Activity, str]:
    threshold = figures.busy_threshold.value if figures.busy_threshold else None
    window = RankedFees(each for _, each in figures.recent)
    busyness = conclude_busyness(FeeReadings(base_fee, threshold, window))
    if busyness is Busyness.FLAT_FEE:
        return _flat_activity(base_fee, figures.priority)
    if busyness is None or threshold is None:
        return Activity.UNKNOWN, "The busy threshold was not seen yet, so busy cannot be told."
    return Activity(busyness), _busy_reason(figures, threshold, now)


def _flat_activity(base_fee: Wei, priority: FeeGrounds | None) -> tuple[Activity, str]:
    flat = f"The base fee never moves here: {' '.join(fee(base_fee))}"
    if priority is None:
        return (
            Activity.FLAT_FEE,
            f"{flat}. Busyness is told by priority fees, of which too few were seen yet.",
        )
    side = "is above" if priority.is_busy else "is not above"
    said = (
        f"{flat}. So the medium suggested priority fee tells: {' '.join(fee(priority.fee))} {side} "
        f"{' '.join(fee(priority.threshold))}, the 90th percentile of its last 24 h."
    )
    return Activity.BUSY if priority.is_busy else Activity.CALM, said


def _stale_reason(datum: Datum[Wei], now: datetime) -> str:
    if datum.is_future(now):
        return (
            "The last answer is dated in the future, so a clock was set; one is due "
            f"every {span(datum.period)}. What is shown may have changed, and busy cannot be told."
        )
    return (
        f"The last answer came {age(datum.asked_at, now)}; one is due every {span(datum.period)}. "
        "What is shown may have changed, and busy cannot be told."
    )


def _busy_reason(figures: NetworkFigures, threshold: Wei, now: datetime) -> str:
    is_above, since = _side_since(figures.recent, threshold)
    said = "been above" if is_above else "stayed at or below"
    if since is None:
        return f"The base fee has {said} the busy threshold."
    whole = "at least " if since == figures.recent[0][0] else ""
    return f"The base fee has {said} the busy threshold for {whole}{span(now - since)}."


def _side_since(
    recent: Sequence[tuple[datetime, Wei]], threshold: Wei
) -> tuple[bool, datetime | None]:
    """Return on which side of the present threshold the fees are, and since when."""
    if not recent:
        return False, None
    is_above = recent[-1][1] > threshold
    since = recent[-1][0]
    for at, base_fee in reversed(recent):
        if (base_fee > threshold) is not is_above:
            break
        since = at
    return is_above, since
