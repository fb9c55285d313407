"""The demo history: the fees and reports of the time before the chain began."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import structs
from msgspec.structs import replace
from numpy.lib.stride_tricks import sliding_window_view

from dashboard.devnet.chain import (
    Chain,
    FeeDemand,
    Int64Array,
    SeededRandom,
    between,
    between_points,
)
from dashboard.devnet.genesis import BLOCK_SECONDS, DEVNET, Genesis, SimulatedNetwork
from dashboard.devnet.traffic import REJECTION_SECONDS, SubmitReport, Traffic
from dashboard.domain.fees.busy_spells import (
    HoldPeriods,
    JudgedValue,
    Spell,
    longest_pause,
    spells_of,
)
from dashboard.domain.fees.gas import BlockFees, FeeSeries, GasObservation, GasSource
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.fees.suggestion import FeePolicy, suggest
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import WEI_PER_GWEI, Wei

SeenMask: TypeAlias = npt.NDArray[np.bool_]

_THOUSAND: Final = 1000
_DAY: Final = 24 * 3600
_SEASON: Final = 16 * _DAY
_BLOCK: Final = 2
_BLOCKS: Final = _DAY // _BLOCK
_OUTAGE_SLOT: Final = 8 * _DAY
_OUTAGE_CHANCE: Final = 96  # of 256 slots
_SHORTEST_OUTAGE: Final = 600
_LENGTHS: Final = 10  # each twice as long as the one before


class DemoFees:
    """Base fees and priority fees by Unix second, computed from the seed.

    They lead to the demand that the chain has at `until`; seasons fade out before that.
    """

    def __init__(self, seed: int, network: SimulatedNetwork, until: datetime) -> None:
        """Use the chain's own demand for the devnet itself."""
        self._random = SeededRandom(seed + network.network_id - DEVNET.network_id)
        self._network = network
        self._demand = FeeDemand(self._random)
        self._until = int(until.timestamp())

    def prices(self, timestamps: Int64Array) -> Int64Array:
        """Return demand in wei at Unix seconds, ascending; base fees scatter around it."""
        season = between_points(self._season_at, timestamps, _SEASON)
        before_the_chain = np.clip(self._until - timestamps, 0, _SEASON)
        season = _THOUSAND + season * before_the_chain // _SEASON
        return self._demand.prices(timestamps) * season // _THOUSAND

    def base_fees(self, timestamps: Int64Array) -> Int64Array:
        """Return the base fees in wei at Unix seconds, ascending."""
        network = self._network
        return network.base_fee + self._scattered(timestamps) * network.base_fee_share // _THOUSAND

    def priority_fees(self, timestamps: Int64Array) -> Int64Array:
        """Return the priority fee of a medium transaction, in wei."""
        return self._scattered(timestamps) * self._network.priority_fee_share // _THOUSAND

    def is_observed(self, timestamps: Int64Array) -> SeenMask:
        """Return at which Unix seconds, ascending, polls ran."""
        if not self._network.has_outages:
            return np.ones(len(timestamps), np.bool_)
        slots, passed = np.divmod(timestamps, _OUTAGE_SLOT)
        first = int(slots[0])
        outages = np.array([self._outage(slot) for slot in range(first, int(slots[-1]) + 1)])
        begins, ends = outages[slots - first].T
        is_watched: SeenMask = (passed < begins) | (ends <= passed)
        return is_watched

    def _scattered(self, timestamps: Int64Array) -> Int64Array:
        """Scatter demand by four percent either way, block by block."""
        days, passed = np.divmod(timestamps, _DAY)
        first = int(days[0])
        noise = b"".join(
            self._random.stream("history", day, _BLOCKS) for day in range(first, int(days[-1]) + 1)
        )
        octets = np.frombuffer(noise, np.uint8)[(days - first) * _BLOCKS + passed // _BLOCK]
        share = 960 + octets.astype(np.int64) * 81 // 256
        scattered: Int64Array = self.prices(timestamps) * share // _THOUSAND
        return scattered

    def _season_at(self, number: int) -> int:
        return between(-300, 500, self._random.draw("season", number, 2))

    def _outage(self, slot: int) -> tuple[int, int]:
        """Return when the outage of a slot begins and ends, in seconds: minutes to days long."""
        happens, length, *begin = self._random.draw("outage", slot, 4)
        if happens >= _OUTAGE_CHANCE:
            return 0, 0
        seconds = _SHORTEST_OUTAGE << length % _LENGTHS
        begins = between(0, _OUTAGE_SLOT - seconds, bytes(begin))
        return begins, begins + seconds


YEAR: Final = timedelta(days=365)

_HOUR: Final = 3600
_ONE_DAY: Final = 24 * _HOUR
_SAMPLE_SECONDS: Final = 600
_STEPS: Final = ((26 * _HOUR, 30), (5 * _HOUR // 4, BLOCK_SECONDS))
"""Ages of observations, and the poll interval at that age, both in seconds."""

_DAYS_AT_ONCE: Final = 8
_POLL_SECONDS: Final = 12
"""The interval at which whole days are evaluated, like that of polls."""

_WINDOW: Final = 67  # samples in eleven hours, as long as 20,000 blocks take
_RANKS: Final = (33, 60)  # of the median and the 90th percentile, ascending, counted from zero
_POLICY: Final = FeePolicy(historical_blocks=10)
_WITHOUT_FLOORS: Final = structs.replace(
    _POLICY,
    **{
        name: structs.replace(getattr(_POLICY, name), priority_fee_floor=Wei(0))
        for name in ("low", "medium", "high")
    },
)
"""With a constant base fee, only priority fees vary."""

_REWARDS: Final = (40, 100, 150, 250, 1200)
"""Rewards at the percentiles of a block, in percent of a medium priority fee."""


class FeesOfDays(NamedTuple):
    """Whole days of one series: times in milliseconds since 1970, ascending, and fees in wei."""

    series: FeeSeries
    at: Int64Array
    fees: Int64Array


class DemoFeeHistory:
    """Fees up to a moment; the same arguments give the same fees.

    `days` are whole days until a little more than a day ago, `observations` the time after that.
    """

    def __init__(
        self,
        seed: int,
        until: datetime,
        length: timedelta = YEAR,
        network: SimulatedNetwork = DEVNET,
    ) -> None:
        self._fees = DemoFees(seed, network, until)
        self._network = network
        self._end = until
        self._since, self._until = (int(each.timestamp()) for each in (until - length, until))
        self._first_day = -(-self._since // _ONE_DAY)
        self._last_day = max(self._first_day, (self._until - _STEPS[0][0]) // _ONE_DAY)

    def days(self) -> Iterator[FeesOfDays]:
        """Yield all fees, several whole days at a time, oldest first."""
        for first, last, seen in self._seen_blocks():
            base_fees = self._fees.base_fees(seen)
            yield FeesOfDays(FeeSeries.ESTIMATED_BASE_FEE, seen * 1000, base_fees)
            if self._network.has_flat_fee:
                priority_fees = self._fees.priority_fees(seen)
                yield FeesOfDays(FeeSeries.MEDIUM_MAX_PRIORITY_FEE, seen * 1000, priority_fees)
            samples = _multiples(first * _ONE_DAY, last * _ONE_DAY, _SAMPLE_SECONDS)
            is_seen = self._fees.is_observed(samples)
            samples, (usual, busy) = samples[is_seen], self._percentiles(samples)[:, is_seen]
            yield FeesOfDays(FeeSeries.BASE_FEE_PERCENTILE, samples * 1000, usual)
            yield FeesOfDays(FeeSeries.BUSY_THRESHOLD, samples * 1000, busy)

    def spells(self, holds: HoldPeriods) -> list[Spell]:
        """Return the busy spells of these fees; the last one may be cut at the end.

        With a constant base fee there are none: polls evaluate priority fees.
        """
        if self._network.has_flat_fee:
            return []
        pause = longest_pause(timedelta(seconds=_POLL_SECONDS))
        found = spells_of(self._turns(pause), holds, pause)
        return [
            each if each.ends_at else replace(each, ends_at=self._end, is_end_known=False)
            for each in found
        ]

    def _turns(self, pause: timedelta) -> Iterator[JudgedValue]:
        """Yield the values that change whether the fee is above the latest threshold."""
        last_at, was_beyond, threshold = -1, False, -1
        days = (blocks[blocks % _POLL_SECONDS == 0] for _, _, blocks in self._seen_blocks())
        for at in chain(days, [self._moments()] if self._since < self._until else []):
            if not len(at):
                continue
            samples = _multiples(int(at[0]) - _SAMPLE_SECONDS, int(at[-1]) + 1, _SAMPLE_SECONDS)
            is_seen = self._fees.is_observed(samples)
            samples, busy = samples[is_seen], self._percentiles(samples)[1, is_seen]
            thresholds = np.append(threshold, busy)
            held = thresholds[np.searchsorted(samples, at, side="right")]
            is_beyond = (self._fees.base_fees(at) > held) & (held >= 0)
            before = np.append(last_at, at[:-1])
            is_turn = is_beyond != np.append(was_beyond, is_beyond[:-1])
            is_turn |= at - before > pause.total_seconds()
            is_turn[-1] = True
            for place in np.flatnonzero(is_turn).tolist():
                seen_before = before[place] if before[place] >= 0 else at[place]
                moment, before_it = (_moment(int(each)) for each in (at[place], seen_before))
                yield JudgedValue(moment, bool(is_beyond[place]), before_it)
            last_at, was_beyond = int(at[-1]), bool(is_beyond[-1])
            threshold = int(thresholds[-1])

    def _seen_blocks(self) -> Iterator[tuple[int, int, Int64Array]]:
        """Yield several whole days at a time (first, and one after the last) and their blocks."""
        for first in range(self._first_day, self._last_day, _DAYS_AT_ONCE):
            last = min(first + _DAYS_AT_ONCE, self._last_day)
            blocks = _multiples(first * _ONE_DAY, last * _ONE_DAY, BLOCK_SECONDS)
            yield first, last, blocks[self._fees.is_observed(blocks)]

    def observations(self) -> Iterator[GasObservation]:
        """Yield what gas polls would have seen after the last whole day, oldest first."""
        moments = self._moments()
        if not len(moments):
            return
        policy = _WITHOUT_FLOORS if self._network.has_flat_fee else _POLICY
        samples = _multiples(int(moments[0]), int(moments[-1]) + 1, _SAMPLE_SECONDS)
        percentiles_at = dict(
            zip(samples.tolist(), self._percentiles(samples).T.tolist(), strict=True)
        )
        window = FeeWindow(_WINDOW)
        for fee in self._fees.base_fees(_before(samples)).tolist():
            window.append(fee)
        blocks: deque[BlockFees] = deque(maxlen=policy.historical_blocks)
        following = self._fees.prices(moments + BLOCK_SECONDS).tolist()
        for (at, fees), next_base_fee in zip(self._blocks(moments), following, strict=True):
            blocks.append(fees)
            percentile, threshold = percentiles_at.get(at, (None, None))
            if percentile is not None:
                window.append(fees.base_fee_per_gas)
            yield GasObservation(
                self._network.network_id,
                datetime.fromtimestamp(at, UTC),
                suggest(tuple(blocks), next_base_fee, window, policy),
                base_fee_percentile=percentile,
                busy_threshold=threshold,
                sources=dict.fromkeys(Operation, GasSource.DEMO_HISTORY),
            )

    def _moments(self) -> Int64Array:
        """Return when polls ran, in Unix seconds.

        They are multiples of the interval, so that a later history continues this one.
        """
        begin = self._since if self._first_day >= self._last_day else self._last_day * _ONE_DAY
        (_, step), (age, last_step) = _STEPS
        change = max(begin, self._until - age)
        moments = np.append(
            _multiples(begin, change, step), _multiples(change, self._until, last_step)
        )
        return moments[self._fees.is_observed(moments)]

    def _blocks(self, moments: Int64Array) -> Iterator[tuple[int, BlockFees]]:
        """Yield each moment with the fees of its block, which is half full."""
        base_fees = self._fees.base_fees(moments).tolist()
        priority_fees = self._fees.priority_fees(moments).tolist()
        for at, base_fee, priority_fee in zip(
            moments.tolist(), base_fees, priority_fees, strict=True
        ):
            rewards = tuple(Wei(priority_fee * share // 100) for share in _REWARDS)
            yield at, BlockFees(at // BLOCK_SECONDS, Wei(base_fee), 0.5, rewards)

    def _percentiles(self, samples: Int64Array) -> Int64Array:
        """Return the median and 90th percentile of the window up to each sample, in two rows."""
        fees = self._fees.base_fees(np.append(_before(samples), samples))
        ascending = np.sort(sliding_window_view(fees, _WINDOW), axis=1)
        return ascending[:, _RANKS].T


def _moment(at: int) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _before(samples: Int64Array) -> Int64Array:
    """Return the samples before the first one that fill its window."""
    before: Int64Array = samples[0] - np.arange(_WINDOW - 1, 0, -1) * _SAMPLE_SECONDS
    return before


def _multiples(begin: int, end: int, step: int) -> Int64Array:
    """Return the multiples of `step` from `begin` to before `end`."""
    return np.arange(-(-begin // step), -(-end // step), dtype=np.int64) * step


_REPORTED_DAY: Final = 24 * _HOUR
_USUAL_PRICE: Final = 12 * WEI_PER_GWEI
_REJECTIONS_IN_AN_HOUR: Final = 1200  # thousandths, at the usual price
_STORM_CHANCE: Final = 8  # of 256 days
_STORM_HOURS: Final = 5
_STORM: Final = 9


class DemoReports:
    """A sample of the traffic of each hour: more if the network is busy, far more in a storm."""

    def __init__(self, seed: int, until: datetime, length: timedelta = YEAR) -> None:
        self._since, self._until = until - length, until
        chain = Chain(Genesis(seed, int(self._since.timestamp())))
        self._random = chain.random
        self._traffic = Traffic(chain)
        self._fees = DemoFees(seed, DEVNET, until)

    def reports(self) -> Iterator[SubmitReport]:
        """Yield the reports, approximately in order of time."""
        first, last = (int(each.timestamp()) // _HOUR for each in (self._since, self._until))
        prices = self._fees.prices(np.arange(first, last + 1) * _HOUR).tolist()
        for hour, price in zip(range(first, last + 1), prices, strict=True):
            for pick in range(self._rejections_in(hour, price)):
                draw = self._random.draw(f"pick {pick}", hour, 4)
                number = (hour * _HOUR + between(0, _HOUR - 1, draw)) // REJECTION_SECONDS
                for action in self._traffic.rejection(number).reports:
                    if self._since < action.at <= self._until:
                        yield action

    def _rejections_in(self, hour: int, price: Wei) -> int:
        """Return the number of rejected transactions in an hour."""
        expected = _REJECTIONS_IN_AN_HOUR * price // _USUAL_PRICE
        happens, begins = self._random.draw("storm", hour * _HOUR // _REPORTED_DAY, 2)
        begins %= 24 - _STORM_HOURS
        if happens < _STORM_CHANCE and begins <= hour % 24 < begins + _STORM_HOURS:
            expected *= _STORM
        whole, part = divmod(expected, _THOUSAND)
        draw = self._random.draw("stories", hour, 4)
        return whole + (between(0, _THOUSAND - 1, draw) < part)
