"""Conclude what rules measure: rates of rejections and limits of fees, each subject by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from dashboard.detect.condition_start_end import Conclusion, HoldPeriods, Reading, conclude
from dashboard.domain.condition import Condition, Subject, SubjectKind
from dashboard.domain.grounds import FeeLimitGrounds, RateGrounds
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.rule import FeeMeasure, RateMeasure, Rule

HeldConditions: TypeAlias = Mapping[Subject, Condition]
"""What is held of what rules measure."""

Counts: TypeAlias = Mapping[tuple[NetworkId, str], int]
"""Rejections by network, and by the value of the dimension of a rule, empty for none."""

Readings: TypeAlias = dict[Subject, Reading | None]
"""What was read of each subject; None where nothing can be known now."""

_AT_ONCE = HoldPeriods(timedelta())


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """What a reading changes of a subject."""

    subject: Subject
    before: Condition | None
    conclusion: Conclusion

    @property
    def changes_stored(self) -> bool:
        """Whether anything has to be written."""
        noted = None if self.before is None else self.before.turning_since
        return self.conclusion.transition is not None or self.conclusion.turning_since != noted


def read_rates(rule: Rule, measure: RateMeasure, counts: Counts, now: datetime) -> Readings:
    """Return of each network and value whether more rejections arrived than the rule allows."""
    by = "" if measure.by is None else measure.by.value
    readings: Readings = {}
    for (network_id, value), count in counts.items():
        subject = Subject(SubjectKind.REJECTION_RATE, network_id, rule=rule.name, dimension=value)
        grounds = RateGrounds(count, measure.more_than, measure.window, by, value)
        readings[subject] = Reading(count > measure.more_than, now, grounds=grounds)
    return readings


def read_fee_limit(
    rule: Rule, measure: FeeMeasure, network_id: NetworkId, fee: Wei | None, at: datetime
) -> Readings:
    """Return whether a fee seen at a moment is beyond its limit; no fee is not known now."""
    subject = Subject(SubjectKind.FEE_LIMIT, network_id, rule=rule.name)
    if fee is None:
        return {subject: None}
    grounds = FeeLimitGrounds(measure.signal, fee, measure.limit, measure.is_upper)
    return {subject: Reading(grounds.is_beyond, at, grounds=grounds)}


def conclude_measured(
    rule: Rule, readings: Readings, held: HeldConditions, new_id: Callable[[], UUID]
) -> Iterator[MeasuredChange]:
    """Yield what readings change, where that has to be written.

    What is in no trouble and never was held is no news, and nothing is kept of it.
    """
    periods = HoldPeriods(rule.pending, rule.keep_firing)
    for subject, reading in readings.items():
        before = held.get(subject)
        if before is None and (reading is None or not reading.is_trouble):
            continue
        found = MeasuredChange(
            subject, before, conclude(subject, before, reading, periods, new_id())
        )
        if found.changes_stored:
            yield found


def unmeasured(readings: Readings, held: HeldConditions, rule: Rule, now: datetime) -> Readings:
    """Return the readings of what is held of a rule and was not read now: a rate of none."""
    measure = rule.measure
    if not isinstance(measure, RateMeasure):
        return {}
    gone = [each for each in held if each.rule == rule.name and each not in readings]
    by = "" if measure.by is None else measure.by.value
    return {
        subject: Reading(
            is_trouble=False,
            at=now,
            grounds=RateGrounds(0, measure.more_than, measure.window, by, subject.dimension),
        )
        for subject in gone
    }


def end_without_rule(
    subject: Subject, before: Condition, now: datetime, new_id: Callable[[], UUID]
) -> MeasuredChange:
    """End what a rule measured that is there no more, or is off."""
    reading = Reading(is_trouble=False, at=now)
    return MeasuredChange(subject, before, conclude(subject, before, reading, _AT_ONCE, new_id()))
