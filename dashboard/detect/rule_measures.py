"""Conclude what rules measure: rates, fees, gaps, deliveries, credits, each subject by itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from dashboard.detect.condition_start_end import Conclusion, Reading, conclude, condition_of
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    LONGEST_DIMENSION,
    Condition,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.grounds import (
    BounceGrounds,
    CreditGrounds,
    DeliveryGrounds,
    ExpiryGrounds,
    FeeLimitGrounds,
    GapGrounds,
    RateGrounds,
)
from dashboard.domain.alerts.rule import CreditMeasure, RateMeasure, Rule, subject_kinds
from dashboard.domain.fees.spells import HoldPeriods, SpellState
from dashboard.domain.health.coverage import Gap, GapCause
from dashboard.domain.quantity import NetworkId

HeldConditions: TypeAlias = Mapping[Subject, Condition]
"""What is held of what rules measure."""

Counts: TypeAlias = Mapping[tuple[NetworkId, str], int]
"""Rejections by network, and by the value of the dimension of a rule, empty for none."""

Readings: TypeAlias = dict[Subject, Reading | None]
"""What was read of each subject; None where nothing can be known now."""

_AT_ONCE: Final = HoldPeriods(timedelta())

REPORTED_AFTER_END: Final = timedelta(minutes=5)
"""How long after its end a gap is still reported: only then may somebody know of it."""


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


def read_gaps(
    rule: Rule, gaps: Sequence[Gap], networks: Iterable[NetworkId], now: datetime
) -> Readings:
    """Return of each network whether it is not watched, or was not until a moment ago.

    A gap while no worker was running is known only afterwards, so it counts for a while.
    """
    return {
        Subject(SubjectKind.COVERAGE, network_id, rule=rule.name): _read_gap(
            rule, [each for each in gaps if each.network_id == network_id], now
        )
        for network_id in rule.scope.networks or networks
    }


def read_worker(rule: Rule, gaps: Sequence[Gap], now: datetime) -> Readings:
    """Return whether no worker was running until a moment ago; one that is there judges it."""
    unwatched = [each for each in gaps if each.cause is GapCause.NOT_WATCHED]
    subject = Subject(SubjectKind.WORKER, INSTALLATION, rule=rule.name)
    return {subject: _read_gap(rule, unwatched, now)}


def _read_gap(rule: Rule, gaps: Sequence[Gap], now: datetime) -> Reading:
    """Read the longest gap that lasts, or ended within `REPORTED_AFTER_END`, and is long enough."""
    late = [
        each for each in gaps if each.ends_at is None or now - each.ends_at < REPORTED_AFTER_END
    ]
    long = [each for each in late if each.length(now) >= rule.pending]
    if not long:
        return Reading(is_trouble=False, at=now)
    worst = max(long, key=lambda each: each.length(now))
    grounds = GapGrounds(worst.begins_at, worst.ends_at, worst.cause, worst.reason)
    return Reading(is_trouble=True, at=now, since=worst.begins_at, grounds=grounds)


def read_deliveries(rule: Rule, failing: Mapping[str, DeliveryGrounds], now: datetime) -> Readings:
    """Return of each channel that it fails, with what it does not take."""
    return {
        Subject(SubjectKind.DELIVERY, INSTALLATION, rule=rule.name, dimension=channel): Reading(
            is_trouble=True, at=now, grounds=grounds
        )
        for channel, grounds in failing.items()
    }


def read_bounces(rule: Rule, bounced: Mapping[str, BounceGrounds], now: datetime) -> Readings:
    """Return of each mail address that mails to it come back, since the first one did."""
    return {
        Subject(
            SubjectKind.ADDRESS, INSTALLATION, rule=rule.name, dimension=address[:LONGEST_DIMENSION]
        ): Reading(is_trouble=True, at=now, since=grounds.bounced_at, grounds=grounds)
        for address, grounds in bounced.items()
    }


def read_credits(rule: Rule, measure: CreditMeasure, spent: int, now: datetime) -> Readings:
    """Return whether as much of the budget is spent as the rule reports."""
    subject = Subject(SubjectKind.CREDITS, INSTALLATION, rule=rule.name)
    grounds = CreditGrounds(spent, measure.budget, measure.per.value)
    is_trouble = spent * 100 >= measure.budget * measure.percent
    return {subject: Reading(is_trouble, now, grounds=grounds)}


def read_expiries(
    rule: Rule, ending: Iterable[ExpiryGrounds], now: datetime, unknown: Iterable[str] = ()
) -> Readings:
    """Return of each thing that ends soon that it does, and of what is `unknown` no more."""

    def subject(what: str) -> Subject:
        name = what[:LONGEST_DIMENSION]
        return Subject(SubjectKind.EXPIRY, INSTALLATION, rule=rule.name, dimension=name)

    readings: Readings = {subject(each): None for each in unknown}
    return readings | {
        subject(each.what): Reading(is_trouble=True, at=now, grounds=each) for each in ending
    }


def conclude_measured(
    rule: Rule, readings: Readings, held: HeldConditions, new_id: Callable[[], UUID]
) -> Iterator[MeasuredChange]:
    """Yield what readings change, where that has to be written.

    What is in no trouble and never was held is not reported, and nothing is kept of it.
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


def conclude_fees(
    subject: Subject,
    held: Condition | None,
    states: Sequence[SpellState],
    grounds: FeeLimitGrounds | None,
    now: datetime,
    new_id: Callable[[], UUID],
) -> Iterator[MeasuredChange]:
    """Yield what the states change that stored fees led to, the last fee being the grounds.

    What was over before anything was held is not reported.
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
            yield MeasuredChange(subject, before, Conclusion(settled, transition))
            before = settled
    turned = MeasuredChange(subject, before, Conclusion(last))
    if before is not None and turned.changes_stored:
        yield turned


def unmeasured(readings: Readings, held: HeldConditions, rule: Rule, now: datetime) -> Readings:
    """Return the readings of what is held of a rule and is in trouble no more.

    Rates, channels, addresses and what ends soon are read only where there are some.
    """
    gone = [each for each in held if each.rule == rule.name and each not in readings]
    kinds = {SubjectKind.REJECTION_RATE, SubjectKind.EXPIRY}
    kinds |= {SubjectKind.DELIVERY, SubjectKind.ADDRESS}
    return {
        subject: Reading(is_trouble=False, at=now, grounds=_no_rate(rule, subject))
        for subject in gone
        if subject.kind in kinds & set(subject_kinds(rule.kind))
    }


def without_silent(readings: Readings, silent: Collection[NetworkId]) -> Readings:
    """Return readings of rates, of which few arrivals say nothing while nobody sees them arrive."""
    return {
        subject: None
        if subject.kind is SubjectKind.REJECTION_RATE
        and subject.network_id in silent
        and reading is not None
        and not reading.is_trouble
        else reading
        for subject, reading in readings.items()
    }


def _no_rate(rule: Rule, subject: Subject) -> RateGrounds | None:
    measure = rule.measure
    if not isinstance(measure, RateMeasure):
        return None
    by = "" if measure.by is None else measure.by.value
    return RateGrounds(0, measure.more_than, measure.window, by, subject.dimension)


def end_without_rule(
    subject: Subject, before: Condition, now: datetime, new_id: Callable[[], UUID]
) -> MeasuredChange:
    """End what a rule measured that is there no more, or is off."""
    reading = Reading(is_trouble=False, at=now)
    return MeasuredChange(subject, before, conclude(subject, before, reading, _AT_ONCE, new_id()))
