"""Conclude what rules measure, one subject at a time: rates, fees, gaps, deliveries, credits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from msgspec.structs import replace

from dashboard.detect.start_and_end_of_conditions import Conclusion, conclude, condition_of
from dashboard.domain.alerts.condition import (
    Condition,
    Reading,
    Readings,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds, RateMeasure
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.fees.busy_spells import HoldPeriods, SpellState
from dashboard.domain.quantity import NetworkId

HeldConditions: TypeAlias = Mapping[Subject, Condition]
"""The stored conditions of measured subjects."""

_AT_ONCE: Final = HoldPeriods(timedelta())


def conclude_measured(
    rule: Rule, readings: Readings, held: HeldConditions, new_id: Callable[[], UUID]
) -> Iterator[Conclusion]:
    """Yield the conclusions from readings that must be stored.

    A subject without trouble and without a stored condition is neither reported nor stored.
    """
    periods = HoldPeriods(rule.pending, rule.keep_firing)
    for subject, reading in readings.items():
        before = held.get(subject)
        if before is None and (reading is None or not reading.is_trouble):
            continue
        for step in _steps(before, reading):
            found = conclude(subject, before, step, periods, new_id())
            if found.changes_stored:
                yield found
            before = found.condition


def _steps(held: Condition | None, reading: Reading | None) -> Iterator[Reading | None]:
    """Split a reading of trouble that is over into its beginning, unless known, and its end."""
    if reading is None or reading.ended_at is None:
        yield reading
        return
    if held is None or not (held.state.is_open or held.since >= reading.ended_at):
        yield reading
    yield Reading(is_trouble=False, at=reading.at, since=reading.ended_at)


def conclude_fees(
    subject: Subject,
    held: Condition | None,
    states: Sequence[SpellState],
    grounds: FeeLimitGrounds | None,
    now: datetime,
    new_id: Callable[[], UUID],
) -> Iterator[Conclusion]:
    """Yield the conclusions from the states that stored fees led to; `grounds` are the last fee.

    A spell that ended before any condition was stored is not reported.
    """
    reached = [condition_of(SubjectKind.FEE_LIMIT, each) for each in states]
    if not reached:
        return
    last = reached[-1]
    if held is None:
        reached = [last] if last.state.is_open or last.turning_since is not None else []
    before = held
    for after in reached:
        if before is None or before.state is not after.state:
            earlier = None if before is None else before.state
            shown = None if after.state is State.UNKNOWN else grounds
            transition = Transition(
                new_id(), subject, earlier, after.state, now, shown, after.since
            )
            settled = replace(after, turning_since=None)
            yield Conclusion(subject, before, settled, transition)
            before = settled
    turned = Conclusion(subject, before, last)
    if before is not None and turned.changes_stored:
        yield turned


def unmeasured(readings: Readings, held: HeldConditions, rule: Rule, now: datetime) -> Readings:
    """Return readings without trouble for stored subjects of a rule that were not read.

    Rates, channels, addresses and what expires soon are read only if there are any.
    """
    gone = [each for each in held if each.rule == rule.name and each not in readings]
    kind = KINDS[rule.kind]
    return {
        subject: Reading(is_trouble=False, at=now, grounds=_no_rate(rule, subject))
        for subject in gone
        if kind.reads_some and subject.kind in kind.subjects
    }


def without_outages(readings: Readings, outages: Collection[NetworkId]) -> Readings:
    """Replace calm rates of networks in `outages` by None, since nobody sees arrivals there."""
    return {
        subject: None
        if subject.kind is SubjectKind.REJECTION_RATE
        and subject.network_id in outages
        and reading is not None
        and not reading.is_trouble
        else reading
        for subject, reading in readings.items()
    }


def _no_rate(rule: Rule, subject: Subject) -> RateGrounds | None:
    measure = rule.measure
    return measure.grounds(0, subject.dimension) if isinstance(measure, RateMeasure) else None


def end_without_rule(
    subject: Subject, before: Condition, now: datetime, new_id: Callable[[], UUID]
) -> Conclusion:
    """End the condition of a subject whose rule was removed or turned off."""
    reading = Reading(is_trouble=False, at=now)
    return conclude(subject, before, reading, _AT_ONCE, new_id())
