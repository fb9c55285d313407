"""What is to be remembered of fees, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from dashboard.domain.fees.gas import SMALLEST_OVERLAP, GasObservation, GasSource, SuggestedGasFees
from dashboard.domain.fees.rollup import FeeSeries
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.gas import Dated
from tests.model.tracking import Silences
from tests.model.world import NETWORKS

_MOMENT: Final = timedelta(milliseconds=1)
A_MINUTE: Final = timedelta(minutes=1)
MARKS: Final = (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)

Value: TypeAlias = tuple[datetime, Wei, bool]
"""A fee, its time, and whether that is estimated."""


@dataclass
class Gone:
    """What is known by roll-ups only, in the order in which it came.

    A minute that lost values keeps as bounds what was replaced in it since.
    """

    values: dict[tuple[NetworkId, FeeSeries], list[Value]] = field(
        default_factory=lambda: {(each, kind): [] for each in NETWORKS for kind in FeeSeries}
    )
    bounds: dict[tuple[NetworkId, FeeSeries], list[Value]] = field(
        default_factory=lambda: {(each, kind): [] for each in NETWORKS for kind in FeeSeries}
    )
    marks: dict[tuple[NetworkId, Operation], list[Dated[Wei]]] = field(
        default_factory=lambda: {(each, mark): [] for each in NETWORKS for mark in MARKS}
    )

    def times(self, network_id: NetworkId, operation: Operation) -> list[datetime]:
        """Return the times of what is gone of an operation."""
        if operation in MARKS:
            return [each.asked_at for each in self.marks[network_id, operation]]
        return [at for at, _, _ in self.values[network_id, FeeSeries.MEDIUM_MAX_PRIORITY_FEE]]

    def replace(self, network_id: NetworkId, kind: FeeSeries, old: Value) -> None:
        """Keep as a bound what is replaced in a minute that lost values."""
        minutes = {begin_of(at, A_MINUTE) for at, _, _ in self.values[network_id, kind]}
        if begin_of(old[0], A_MINUTE) in minutes:
            self.bounds[network_id, kind].append(old)


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
        default_factory=lambda: {(each, mark): {} for each in NETWORKS for mark in MARKS}
    )
    histories: dict[NetworkId, Dated[tuple[Wei, ...]]] = field(default_factory=dict)
    gone: Gone = field(default_factory=Gone)

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
                self._forget_estimate(network_id, at)
            if held is None and is_history and self._is_known(operation, network_id, at):
                continue
            if held is None:
                of_operation[at] = told
            elif not is_history and told.source.is_better_than(held.source):
                self._note_bounds(network_id, at, held)
                of_operation[at] = told

    def forget(self, before: datetime) -> None:
        """Forget single values; what they make up together stays."""
        for (network_id, kind), gone in self.gone.values.items():
            gone += [each for each in self.values(network_id, kind) if each[0] < before]
        for place, marks in self.marks.items():
            self.gone.marks[place] += [marks[at] for at in sorted(marks) if at < before]
        tables: list[dict[datetime, Any]] = [
            *self.observed.values(),
            *self.estimated.values(),
            *self.marks.values(),
        ]
        for table in tables:
            for at in [each for each in table if each < before]:
                del table[at]

    def told(self, network_id: NetworkId, kind: FeeSeries) -> list[Value]:
        """Return every value that ever was, those that are gone included, oldest first."""
        ever = [*self.gone.values[network_id, kind], *self.values(network_id, kind)]
        return sorted(ever, key=lambda each: each[0])

    def _forget_estimate(self, network_id: NetworkId, at: datetime) -> None:
        fee = self.estimated[network_id].pop(at, None)
        if fee is not None:
            self.gone.replace(network_id, FeeSeries.ESTIMATED_BASE_FEE, (at, fee, True))

    def _note_bounds(self, network_id: NetworkId, at: datetime, old: Dated[Any]) -> None:
        if not isinstance(old.value, SuggestedGasFees):
            return
        priority = old.value.medium.suggested_max_priority_fee_per_gas
        old_fees = {
            FeeSeries.ESTIMATED_BASE_FEE: old.value.estimated_base_fee,
            FeeSeries.MEDIUM_MAX_PRIORITY_FEE: priority,
        }
        for kind, fee in old_fees.items():
            self.gone.replace(network_id, kind, (at, fee, False))

    def _is_known(self, operation: Operation, network_id: NetworkId, at: datetime) -> bool:
        """Whether a value was estimated, or its minute is known by its roll-up only."""
        if operation is Operation.SUGGESTED_GAS_FEES and at in self.estimated[network_id]:
            return True
        kept, gone = (
            {begin_of(each, A_MINUTE) for each in times}
            for times in (
                self._tables(network_id)[operation],
                self.gone.times(network_id, operation),
            )
        )
        return begin_of(at, A_MINUTE) in gone - kept

    def _tables(self, network_id: NetworkId) -> dict[Operation, dict[datetime, Dated[Any]]]:
        return {
            Operation.SUGGESTED_GAS_FEES: self.observed[network_id],
            **{each: self.marks[network_id, each] for each in MARKS},
        }

    def values(self, network_id: NetworkId, kind: FeeSeries) -> list[Value]:
        """Return every value of a series, oldest first, and whether its time is estimated."""
        if kind is FeeSeries.MEDIUM_MAX_PRIORITY_FEE:
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
        """Keep the blocks that nobody saw; one whose time is taken is dated a moment earlier."""
        network_id, at = seen.network_id, seen.asked_at
        told = _dated(history, at, block_time)
        if not told:
            return
        since = told[0][0] - _leeway(at - told[0][0], block_time)
        last = self.histories.get(network_id)
        if last is not None and last.asked_at < told[0][0]:
            since = max(since, last.asked_at + _MOMENT)
        known = [
            (when, fee) for when, fee, _ in self.values(network_id, FeeSeries.ESTIMATED_BASE_FEE)
        ]
        polls = [each for each in known if since <= each[0] <= at]
        if seen.suggested_gas_fees is not None:
            polls.append((at, seen.suggested_gas_fees.estimated_base_fee))
        taken = {when for when, _ in polls}
        for when, fee in _without(told, polls, block_time):
            own = when
            while own in taken:
                own -= _MOMENT
            taken.add(own)
            self.estimated[network_id].setdefault(own, fee)


def _dated(
    history: Sequence[Wei], at: datetime, block_time: timedelta
) -> list[tuple[datetime, Wei]]:
    """Count the times back from the answer."""
    ages = range(len(history) - 1, -1, -1)
    return [(at - age * block_time, fee) for age, fee in zip(ages, history, strict=True)]


def _without(
    told: list[tuple[datetime, Wei]], polls: list[tuple[datetime, Wei]], block_time: timedelta
) -> list[tuple[datetime, Wei]]:
    """Leave out each block that a poll saw: of those of its fee the nearest, in order."""
    left, newest = dict(enumerate(told)), len(told) - 1
    for at, fee in reversed(polls):
        far = _leeway(told[-1][0] - at, block_time)
        distance = {
            place: abs(when - at)
            for place, (when, its_fee) in enumerate(told[: newest + 1])
            if its_fee == fee and abs(when - at) <= far
        }
        if distance:
            newest = min(distance, key=lambda place: distance[place])
            left.pop(newest, None)
    return list(left.values())


def _leeway(age: timedelta, block_time: timedelta) -> timedelta:
    return 2 * block_time + max(age, timedelta()) / 4


def _told(seen: GasObservation) -> dict[Operation, Any]:
    return {
        Operation.SUGGESTED_GAS_FEES: seen.suggested_gas_fees,
        Operation.BASE_FEE_HISTORY: seen.base_fee_history,
        Operation.BASE_FEE_PERCENTILE: seen.base_fee_percentile,
        Operation.BUSY_THRESHOLD: seen.busy_threshold,
    }


def begin_of(at: datetime, step: timedelta) -> datetime:
    """Return when the step of a time begins."""
    return at - (at - datetime.fromtimestamp(0, at.tzinfo)) % step


def newest(dated: dict[datetime, Dated[Any]], now: datetime) -> Dated[Any] | None:
    """Return what was told last before now, or just now."""
    past = [at for at in dated if at <= now]
    return dated[max(past)] if past else None
