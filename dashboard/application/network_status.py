"""The status of a network: its figures with their ages, and whether it is busy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.listing import Json
from dashboard.application.text import age, moment_near, sentence, since_when
from dashboard.detect.busyness import (
    FLAT_FOR,
    PRIORITY_WINDOW,
    SMALLEST_FLAT_WINDOW,
    BaseFeeReadings,
    PriorityFeeReadings,
    measure_busyness,
)
from dashboard.detect.outage import STALE_AFTER_PERIODS
from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import Condition, Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.gas import GasSource, SuggestedGasFees
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.formatting import fee, period
from dashboard.domain.health.observation import FEE_OPERATIONS, Cost, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.rejections.line_limits import NO_TABLES, LineLimits
from dashboard.domain.tracking.cadence import CadencePolicy
from dashboard.domain.tracking.transaction_cost import USUAL_COIN, CoinPrice
from dashboard.store.alerts.conditions import current_conditions
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.latest import LatestGas, latest_gas_of
from dashboard.store.fees.stored_fees import NO_FEES, Dated, FeeBounds, priority_fee_window
from dashboard.store.monitoring.answer_counts import StandingFailure

T = TypeVar("T")

_LARGEST_LEAD: Final = timedelta(seconds=5)
"""How far the clock of another process may be ahead of ours; more means that a clock was set."""


@dataclass(frozen=True, slots=True)
class NetworkProfile:
    """The configuration of one network, as far as pages and commands show it.

    `gas_source` is the first source asked for fees, each `gas_period`: for percentile and threshold
    each `threshold_period`, for base fees of past blocks each `history_period`. `line_limits` are
    the limits that reasons do not state, and their end. `sees_all_reports`: nodes report to our own
    serve, so that rejections cover more than tracked hashes. `cost` is the cost of polling,
    `cadence` how often a hash is asked about. `exclusion_endpoints` are asked about rejections, in
    order or all at once (`asks_all`); a single endpoint has an empty name. `block_time` is the
    usual one, if known. `rules` say how long a change must last. Fees are paid in `coin`, priced by
    `price_setting`.
    """

    network_id: NetworkId
    name: str
    is_simulated: bool
    gas_period: timedelta
    threshold_period: timedelta
    has_gas: bool = True
    has_exclusion: bool = True
    exclusion_endpoints: tuple[str, ...] = ("",)
    asks_all: bool = False
    gas_source: str = "the gas API"
    sees_all_reports: bool = False
    line_limits: LineLimits = NO_TABLES
    history_period: timedelta = timedelta(minutes=10)
    cost: Cost = field(default_factory=Cost, hash=False)
    cadence: CadencePolicy = field(default_factory=CadencePolicy)
    rules: ConditionRules = field(default_factory=ConditionRules)
    block_time: timedelta | None = None
    coin: str = USUAL_COIN
    coin_price: CoinPrice | None = field(default=None, compare=False)
    price_setting: str = ""

    def form(self) -> dict[str, Json]:
        """Return its name for programs."""
        names: dict[str, Json] = {"networkId": self.network_id, "network": self.name}
        return names | {"isSimulated": self.is_simulated}

    def source_of(self, operation: Operation) -> str:
        """Name the source of an operation, as within a sentence."""
        if operation is Operation.EXCLUSION_STATUS:
            return "the exclusion API"
        is_node = operation is Operation.TRANSACTION_RECEIPT
        return "the network's node" if is_node else self.gas_source

    @property
    def value_time(self) -> timedelta | None:
        """The time between base fees if each block is seen; None if the block time is unknown."""
        return None if self.block_time is None else min(self.block_time, self.gas_period)


class PolledValue(Struct, Generic[T], frozen=True):
    """One value, when it was asked for, and how often it is polled."""

    value: T
    asked_at: datetime
    period: timedelta

    def is_stale(self, now: datetime) -> bool:
        """Whether it is older than two of its own poll periods, or dated in the future."""
        is_past = now - self.asked_at > STALE_AFTER_PERIODS * self.period
        return is_past or self.is_future(now)

    def is_future(self, now: datetime) -> bool:
        """Whether a clock that was ahead dated it, so that its true age is unknown."""
        return self.asked_at - now > _LARGEST_LEAD


class Activity(StrEnum):
    """Whether a network is busy, as far as fresh data shows."""

    BUSY = "busy"
    CALM = "calm"
    FLAT_FEE = "flat fee"
    STALE = "stale"
    UNKNOWN = "unknown"


class NetworkFigures(Struct, frozen=True):
    """The latest value of each figure of a network; None if it was never seen.

    `recent` are the bounds of the base fees of the last hour. `failures` are the operations that
    fail now; their messages are safe to show. `fees_answered_at` is the last answer of the first
    source asked for fees. `gas_source` reported the latest base fee. `priority` is the priority fee
    and its usual highest, which decide busyness if the base fee never moves. `busyness` is the
    condition that alerts use, if one was concluded.
    """

    profile: NetworkProfile
    base_fee: PolledValue[Wei] | None = None
    base_fee_percentile: PolledValue[Wei] | None = None
    busy_threshold: PolledValue[Wei] | None = None
    network_congestion: PolledValue[float] | None = None
    suggested: PolledValue[SuggestedGasFees] | None = None
    recent: FeeBounds = NO_FEES
    failures: Sequence[StandingFailure] = ()
    fees_answered_at: datetime | None = None
    gas_source: GasSource = GasSource.GAS_API
    priority: FeeGrounds | None = None
    busyness: Condition | None = None

    @property
    def has_flat_fee(self) -> bool:
        count, lowest, highest = self.recent
        return count >= SMALLEST_FLAT_WINDOW and lowest == highest

    @property
    def signal(self) -> Signal:
        """The fee that decides whether the network is busy."""
        return Signal.BASE_FEE if self.priority is None else Signal.PRIORITY_FEE

    @property
    def judged_fee(self) -> Wei | None:
        """The current value of that fee; None if it was never seen."""
        if self.priority is not None:
            return self.priority.fee
        return None if self.base_fee is None else self.base_fee.value

    def grounds(self) -> FeeGrounds | None:
        """Return the fee that decides busyness and its threshold, None if one is unknown."""
        if self.has_flat_fee:
            return self.priority
        if self.base_fee is None or self.busy_threshold is None:
            return None
        return FeeGrounds(Signal.BASE_FEE, self.base_fee.value, self.busy_threshold.value)

    def gas_source_name(self) -> str:
        """Name the source of the latest base fee."""
        match self.gas_source:
            case GasSource.GAS_API:
                return self.profile.gas_source
            case GasSource.NODE:
                return "the network's node"
            case GasSource.NODE_INSTEAD:
                return f"the network's node, since {self.profile.gas_source} does not answer"
            case GasSource.DEMO_HISTORY:
                return "linewatch demo-history, which makes them up"

    @property
    def are_fees_failing(self) -> bool:
        """Whether any question about fees is not answered."""
        return any(each.operation in FEE_OPERATIONS for each in self.failures)


class NetworkStatus(Struct, frozen=True):
    """The figures of a network, and what follows from them at one moment.

    `activity_reason` says in one sentence what the activity rests on, or why it is unknown.
    """

    figures: NetworkFigures
    activity: Activity
    activity_reason: str

    @property
    def profile(self) -> NetworkProfile:
        return self.figures.profile

    @property
    def is_judged(self) -> bool:
        return self.activity in {Activity.BUSY, Activity.CALM}


def read_network_figures(
    connection: Connection, profile: NetworkProfile, now: datetime
) -> NetworkFigures:
    """Read the latest figures of a network, and the base fees of the last hour."""
    return read_all_figures(connection, [profile], now)[0]


def read_all_figures(
    connection: Connection, profiles: Sequence[NetworkProfile], now: datetime
) -> list[NetworkFigures]:
    """Read the same for several networks."""
    ids = [each.network_id for each in profiles]
    if not ids:
        return []
    latest = latest_gas_of(connection, ids, now, FLAT_FOR)
    held = current_conditions(connection, [_busyness(each) for each in ids])
    return [
        _figures(
            connection, each, latest[each.network_id], held.get(_busyness(each.network_id).key())
        )
        for each in profiles
    ]


def _busyness(network_id: NetworkId) -> Subject:
    return Subject(SubjectKind.BUSYNESS, network_id)


def _figures(
    connection: Connection,
    profile: NetworkProfile,
    latest: LatestGas,
    busyness: Condition | None,
) -> NetworkFigures:
    if not profile.has_gas:
        return NetworkFigures(profile, failures=latest.failures)
    fees = latest.suggested_gas_fees
    figures = NetworkFigures(
        profile,
        base_fee_percentile=_polled_value(latest.base_fee_percentile, profile.threshold_period),
        busy_threshold=_polled_value(latest.busy_threshold, profile.threshold_period),
        recent=latest.recent,
        failures=latest.failures,
        fees_answered_at=latest.answered_by_first_source_at,
        busyness=busyness,
    )
    if fees is None:
        return figures
    return replace(
        figures,
        base_fee=PolledValue(fees.value.estimated_base_fee, fees.asked_at, profile.gas_period),
        network_congestion=PolledValue(
            fees.value.network_congestion, fees.asked_at, profile.gas_period
        ),
        suggested=PolledValue(fees.value, fees.asked_at, profile.gas_period),
        gas_source=fees.source,
        priority=_priority(connection, figures, fees),
    )


def _priority(
    connection: Connection, figures: NetworkFigures, fees: Dated[SuggestedGasFees]
) -> FeeGrounds | None:
    """Measure the medium priority fee, if the base fee never moves and enough fees are stored."""
    if not figures.has_flat_fee:
        return None
    network_id, until = figures.profile.network_id, fees.asked_at
    stored = priority_fee_window(connection, network_id, until - PRIORITY_WINDOW, until)
    medium = fees.value.medium.suggested_max_priority_fee_per_gas
    window = RankedFees([figures.recent.lowest] * figures.recent.many)
    readings = BaseFeeReadings(fees.value.estimated_base_fee, None, window)
    return measure_busyness(readings, PriorityFeeReadings(medium, stored))


def _polled_value(dated: Dated[T] | None, period: timedelta) -> PolledValue[T] | None:
    return None if dated is None else PolledValue(dated.value, dated.asked_at, period)


def conclude_status(figures: NetworkFigures, now: datetime) -> NetworkStatus:
    """Conclude whether a network is busy, or why that is unknown."""
    return NetworkStatus(figures, *_activity(figures, now))


def _activity(figures: NetworkFigures, now: datetime) -> tuple[Activity, str]:
    if not figures.profile.has_gas:
        return (
            Activity.UNKNOWN,
            "No gas API and no node is configured, so busyness is not watched here.",
        )
    if figures.base_fee is None:
        return Activity.UNKNOWN, _never_seen("base fee", figures, Operation.SUGGESTED_GAS_FEES, now)
    for polled in (figures.base_fee, figures.busy_threshold):
        if polled is not None and polled.is_stale(now):
            return Activity.STALE, f"{_stale_reason(polled, now)}{_was_busy(figures, now)}"
    grounds = figures.grounds()
    if grounds is None:
        return _unjudged_activity(figures, figures.base_fee.value, now)
    return _judged_activity(figures, grounds, now)


def _judged_activity(
    figures: NetworkFigures, grounds: FeeGrounds, now: datetime
) -> tuple[Activity, str]:
    """Return the condition that alerts use, and say on which side of its threshold the fee is."""
    held, side = figures.busyness, _fee_side(grounds, figures)
    if held is None:
        return Activity.BUSY if grounds.is_busy else Activity.CALM, side
    return Activity(held.state), f"{_held_since(held, figures, now)} {side}"


def _unjudged_activity(
    figures: NetworkFigures, base_fee: Wei, now: datetime
) -> tuple[Activity, str]:
    """Say why busyness cannot be evaluated now; until it can, a busy network stays busy."""
    if figures.has_flat_fee:
        activity = Activity.FLAT_FEE
        why = f"{_flat_fee(base_fee)}. Priority fees decide instead, but too few have been seen."
    else:
        activity = Activity.UNKNOWN
        why = _never_seen("busy threshold", figures, Operation.BUSY_THRESHOLD, now)
        why += " Until one is seen, busyness is not known."
    held = figures.busyness
    if held is None or held.state is not State.BUSY:
        return activity, why
    return Activity.BUSY, f"{_held_since(held, figures, now)} {why}"


def _held_since(held: Condition, figures: NetworkFigures, now: datetime) -> str:
    since = since_when(held, figures.profile.rules.busy, now)
    return f"{str(held.state).capitalize()} {since}."


def _was_busy(figures: NetworkFigures, now: datetime) -> str:
    held = figures.busyness
    if held is None or held.state is not State.BUSY:
        return ""
    return f" Last seen busy, since {moment_near(held.since, now)}."


def _never_seen(name: str, figures: NetworkFigures, operation: Operation, now: datetime) -> str:
    """Say that a figure was never seen, and which failure prevents it."""
    sentence_start = f"No {name} has been seen yet"
    failed = next((each for each in figures.failures if each.operation is operation), None)
    if failed is None:
        return f"{sentence_start}; the first answer brings it."
    since = f"{moment_near(failed.failing_since, now)} ({age(failed.failing_since, now)})"
    return f"{sentence_start}: no answer since {since}. {sentence(failed.failure.message)}"


def _flat_fee(base_fee: Wei) -> str:
    return f"The base fee never moves here: {' '.join(fee(base_fee))}"


def _fee_side(grounds: FeeGrounds, figures: NetworkFigures) -> str:
    """Say on which side of its threshold the deciding fee is."""
    if grounds.signal is Signal.BASE_FEE or figures.base_fee is None:
        side = "above" if grounds.is_busy else "at or below"
        return f"The base fee is {side} the busy threshold."
    side = "is above" if grounds.is_busy else "is not above"
    return (
        f"{_flat_fee(figures.base_fee.value)}. So the medium suggested priority fee decides: "
        f"{' '.join(fee(grounds.fee))} {side} {' '.join(fee(grounds.threshold))}, the 90th "
        "percentile of its last 24 h."
    )


def _stale_reason(polled: PolledValue[Wei], now: datetime) -> str:
    if polled.is_future(now):
        last_answer = "The last answer is dated in the future, so a clock was set"
    else:
        last_answer = f"The last answer came {age(polled.asked_at, now)}"
    return (
        f"{last_answer}; one is due every {period(polled.period)}. "
        "Whether it is busy now is not known."
    )
