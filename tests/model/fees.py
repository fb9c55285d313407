"""What is to be remembered of fees, in plain Python."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from dashboard.domain.alignment import SMALLEST_OVERLAP
from dashboard.domain.fee_rollup import FeeSeries
from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.observation import GasObservation, GasSource, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.columns import milliseconds_of
from dashboard.store.connection import Connection
from dashboard.store.fee_columns import FeeSteps
from dashboard.store.fee_series import (
    Between,
    FeeKind,
    fee_mark_steps,
    fee_steps,
    first_seen_at,
)
from dashboard.store.fee_windows import (
    fees_answered_at,
    mark_answered_by_api_at,
    priority_fee_window,
)
from dashboard.store.observations import Dated, base_fees, latest_gas, medium_priority_fees
from dashboard.store.rolling_fees import RollingFees
from tests.model.tracking import Silences
from tests.model.turns import Turn
from tests.model.world import NETWORKS

_SHORTEST_GAP: Final = timedelta(seconds=15)
_STEPS: Final = (timedelta(minutes=1), timedelta(hours=1), timedelta(days=1))
_MARKS: Final = (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)


@dataclass
class Fees:
    """Values by network and time; of two for a time the better source's stays, else the first."""

    observed: dict[NetworkId, dict[datetime, Dated[SuggestedGasFees]]] = field(
        default_factory=lambda: {each: {} for each in NETWORKS}
    )
    estimated: dict[NetworkId, dict[datetime, Wei]] = field(
        default_factory=lambda: {each: {} for each in NETWORKS}
    )
    marks: dict[tuple[NetworkId, Operation], dict[datetime, Dated[Wei]]] = field(
        default_factory=lambda: {(each, mark): {} for each in NETWORKS for mark in _MARKS}
    )
    histories: dict[NetworkId, Dated[tuple[Wei, ...]]] = field(default_factory=dict)

    def save(self, seen: GasObservation, block_time: timedelta | None, silences: Silences) -> None:
        """Keep what a poll saw."""
        network_id, at = seen.network_id, seen.asked_at
        if seen.base_fee_history is not None:
            if block_time is not None and self._is_news(seen):
                self._fill(seen, seen.base_fee_history, block_time)
            self.histories[network_id] = Dated(seen.base_fee_history, at)
        self._keep(seen)
        for operation, told in _told(seen).items():
            if told is not None and seen.source_of(operation) is not GasSource.NODE_INSTEAD:
                silences.answered(network_id, operation)
        for operation, failure in seen.failures:
            silences.failed(network_id, at, operation, failure)

    def keep_history(self, seen: GasObservation) -> None:
        """Keep suggested fees and marks, unless there are some of that time."""
        self._keep(seen, is_history=True)

    def _keep(self, seen: GasObservation, *, is_history: bool = False) -> None:
        """Keep suggested fees and marks; what was seen takes the place of an estimate."""
        network_id, at = seen.network_id, seen.asked_at
        for operation, of_operation in self._tables(network_id).items():
            value = _told(seen)[operation]
            if value is None:
                continue
            told = Dated(value, at, seen.source_of(operation))
            held = of_operation.get(at)
            if held is None and operation is Operation.SUGGESTED_GAS_FEES and not is_history:
                self.estimated[network_id].pop(at, None)
            if held is None and is_history and self._is_estimated(operation, network_id, at):
                continue
            if held is None or (not is_history and told.source.is_better_than(held.source)):
                of_operation[at] = told

    def _is_estimated(self, operation: Operation, network_id: NetworkId, at: datetime) -> bool:
        return operation is Operation.SUGGESTED_GAS_FEES and at in self.estimated[network_id]

    def _tables(self, network_id: NetworkId) -> dict[Operation, dict[datetime, Dated[Any]]]:
        return {
            Operation.SUGGESTED_GAS_FEES: self.observed[network_id],
            **{each: self.marks[network_id, each] for each in _MARKS},
        }

    def values(self, network_id: NetworkId, kind: FeeKind) -> list[tuple[datetime, Wei, bool]]:
        """Return every value of a series, oldest first, and whether its time is estimated."""
        if kind is FeeKind.MEDIUM_PRIORITY_FEE:
            return sorted(
                (at, seen.value.medium.suggested_max_priority_fee_per_gas, False)
                for at, seen in self.observed[network_id].items()
            )
        seen = [
            (at, each.value.estimated_base_fee, False)
            for at, each in self.observed[network_id].items()
        ]
        filled = [(at, fee, True) for at, fee in self.estimated[network_id].items()]
        return sorted([*seen, *filled])

    def _is_news(self, seen: GasObservation) -> bool:
        """Whether a history is another one than the last; shorter ones are alike by chance."""
        last = self.histories.get(seen.network_id)
        if last is None or last.asked_at >= seen.asked_at or len(last.value) < SMALLEST_OVERLAP:
            return True
        return last.value != seen.base_fee_history

    def _fill(self, seen: GasObservation, history: Sequence[Wei], block_time: timedelta) -> None:
        """Keep those values whose probable time lies where nothing is known for long."""
        network_id, at = seen.network_id, seen.asked_at
        known = {*self.observed[network_id], *self.estimated[network_id]}
        if seen.suggested_gas_fees is not None:
            known.add(at)
        bounds = sorted({*known, at})
        gap = max(_SHORTEST_GAP, 3 * block_time)
        new = {
            when: fee
            for when, fee in _dated(history, at, block_time)
            if when not in known and _silence_around(when, bounds) > gap
        }
        self.estimated[network_id] |= new


def _dated(
    history: Sequence[Wei], at: datetime, block_time: timedelta
) -> list[tuple[datetime, Wei]]:
    """Count the times back from the answer."""
    ages = range(len(history) - 1, -1, -1)
    return [(at - age * block_time, fee) for age, fee in zip(ages, history, strict=True)]


def _silence_around(when: datetime, known: Sequence[datetime]) -> timedelta:
    following = bisect_left(known, when)
    return timedelta.max if following == 0 else known[following] - known[following - 1]


def _told(seen: GasObservation) -> dict[Operation, Any]:
    return {
        Operation.SUGGESTED_GAS_FEES: seen.suggested_gas_fees,
        Operation.BASE_FEE_HISTORY: seen.base_fee_history,
        Operation.BASE_FEE_PERCENTILE: seen.base_fee_percentile,
        Operation.BUSY_THRESHOLD: seen.busy_threshold,
    }


def check_fees(
    connection: Connection, held: Fees, silences: Silences, now: datetime, turn: Turn
) -> None:
    """Read fees in every way whose turn it is, and see that they are what is held."""
    for network_id in NETWORKS:
        _check_latest(connection, held, silences, network_id, now)
        _check_values(connection, held, network_id, now)
        for kind in FeeKind:
            for step in turn.some_of(_STEPS):
                # Short enough to be told in the steps that were asked for.
                between = Between(now - 2500 * step, now + timedelta(days=1), step)
                found = fee_steps(connection, network_id, kind, between)
                _check_steps(found, held.values(network_id, kind), between)
        for operation in _MARKS:
            _check_mark_steps(connection, held, network_id, operation, now)


def _check_latest(
    connection: Connection, held: Fees, silences: Silences, network_id: NetworkId, now: datetime
) -> None:
    latest = latest_gas(connection, network_id, now)
    history = held.histories.get(network_id)
    assert latest.suggested_gas_fees == newest(held.observed[network_id], now)
    assert latest.base_fee_history == (history if history and history.asked_at <= now else None)
    percentile, threshold = (newest(held.marks[network_id, each], now) for each in _MARKS)
    assert latest.base_fee_percentile == percentile
    assert latest.busy_threshold == threshold
    assert latest.failures == silences.of(network_id)
    answered = latest.suggested_gas_fees
    assert fees_answered_at(connection, network_id, now) == (answered and answered.asked_at)
    by_api = [
        each.asked_at
        for operation in _MARKS
        for each in held.marks[network_id, operation].values()
        if each.source is not GasSource.NODE_INSTEAD and each.asked_at <= now
    ]
    assert mark_answered_by_api_at(connection, network_id, now) == max(by_api, default=None)


def _check_values(connection: Connection, held: Fees, network_id: NetworkId, now: datetime) -> None:
    since = now - timedelta(hours=2)
    own = [each for each in held.values(network_id, FeeKind.BASE_FEE) if since <= each[0] <= now]
    found = base_fees(connection, network_id, since, now)
    assert sorted(map(tuple, found)) == own
    rolling = RollingFees(network_id, FeeSeries.ESTIMATED_BASE_FEE, now - since)
    window = rolling.read(connection, now)
    assert list(window) == sorted(fee for _, fee, _ in own)
    priority = [
        (at, fee)
        for at, fee, _ in held.values(network_id, FeeKind.MEDIUM_PRIORITY_FEE)
        if since <= at <= now
    ]
    assert medium_priority_fees(connection, network_id, since, now) == priority
    fees = priority_fee_window(connection, network_id, since, now)
    assert list(fees) == sorted(fee for _, fee in priority)
    ever = [at for at, _, _ in held.values(network_id, FeeKind.BASE_FEE)]
    assert first_seen_at(connection, network_id) == min(ever, default=None)


def _check_steps(
    found: FeeSteps, values: Sequence[tuple[datetime, Wei, bool]], between: Between
) -> None:
    groups: dict[datetime, list[tuple[datetime, Wei, bool]]] = {}
    for each in values:
        if between.since <= each[0] <= between.until:
            groups.setdefault(_begin(each[0], between.step), []).append(each)
    assert len(found) == len(groups), (found, groups)
    for step, group in zip(found, groups.values(), strict=True):
        fees = sorted(fee for _, fee, _ in group)
        assert (step.first_at, step.last_at) == (group[0][0], group[-1][0])
        assert (step.lowest, step.highest) == (fees[0], fees[-1])
        assert (step.values, step.estimated) == (len(group), sum(each[2] for each in group))
        assert abs(step.mean - sum(fees) / len(fees)) <= 1e-9 * fees[-1]
        for found_fee, percent in ((step.median, 50), (step.p90, 90)):
            exact = fees[max(1, -(-len(fees) * percent // 100)) - 1]
            assert abs(found_fee - exact) * 64 <= exact, (percent, fees, found_fee)
    assert [step.longest_gap for step in found] == _gaps(list(groups.values()))


def _gaps(groups: Sequence[Sequence[tuple[datetime, Wei, bool]]]) -> list[timedelta]:
    """Return the longest silence that ended in each step."""
    gaps, last = [], None
    for group in groups:
        longest = timedelta()
        for at, _, _ in group:
            longest = max(longest, at - (last or at))
            last = at
        gaps.append(longest)
    return gaps


def _check_mark_steps(
    connection: Connection, held: Fees, network_id: NetworkId, operation: Operation, now: datetime
) -> None:
    step = timedelta(hours=1)
    between = Between(now - 20 * step, now, step)
    marks = sorted(held.marks[network_id, operation].items())
    before = [each for at, each in marks if at < between.since][-1:]
    last = {_begin(at, step): each for at, each in marks if between.since <= at <= between.until}
    found = fee_mark_steps(connection, network_id, operation, between)
    expected = [(milliseconds_of(each.asked_at), each.value) for each in (*before, *last.values())]
    assert list(zip(found.asked_at.tolist(), found.fees.tolist(), strict=True)) == expected


def _begin(at: datetime, step: timedelta) -> datetime:
    return at - (at - datetime.fromtimestamp(0, at.tzinfo)) % step


def newest(dated: dict[datetime, Dated[Any]], now: datetime) -> Dated[Any] | None:
    """Return what was told last before now, or just now."""
    past = [at for at in dated if at <= now]
    return dated[max(past)] if past else None
