"""What a rule would have reported in the past: each time that it would have fired."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import groupby
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from dashboard.domain.alerts.condition import Subject, Transition
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.rule import ObservedChange, Rule, fits
from dashboard.domain.fees.busy_spells import HoldPeriods, JudgedValue, spells_of
from dashboard.domain.quantity import NetworkId, Wei

_NIGHT_BEGINS: Final = 22
_NIGHT_ENDS: Final = 6


class Excess(NamedTuple):
    """A time in which something was in trouble without a break, until it recovered."""

    begins: datetime
    ends: datetime


class FeeSpread(NamedTuple):
    """The lowest and the highest fee that was seen in a short time."""

    begins: datetime
    ends: datetime
    lowest: Wei
    highest: Wei


class Firing(Struct, frozen=True):
    """One incident that a rule would have opened.

    `ends` is None if it lasts. `group` is what its changes share besides the network: pairs of a
    dimension and a value, which is foreign text. `changes` counts the changes it would report.
    """

    at: datetime
    ends: datetime | None
    network_id: NetworkId
    group: tuple[tuple[str, str], ...] = ()
    changes: int = 1


class RulePreview(Struct, frozen=True):
    """The incidents that a rule would have opened within a time, oldest first.

    `is_cut`: there was more than one preview may read, so only the latest part of the time is
    known.
    """

    rule: Rule
    since: datetime
    until: datetime
    firings: tuple[Firing, ...]
    is_cut: bool = False

    def __post_init__(self) -> None:
        """Treat a firing that ends after the previewed time as still open."""
        shown = tuple(
            each if each.ends is None or each.ends <= self.until else replace(each, ends=None)
            for each in self.firings
        )
        force_setattr(self, "firings", shown)

    def at_night(self, zone: tzinfo) -> int:
        """Count the firings that open between 22:00 and 06:00 in a zone."""
        hours = [each.at.astimezone(zone).hour for each in self.firings]
        return sum(hour >= _NIGHT_BEGINS or hour < _NIGHT_ENDS for hour in hours)


def firings_of_changes(rule: Rule, changes: Iterable[ObservedChange]) -> list[Firing]:
    """Group the changes that a rule takes, oldest first, into the incidents that they would be."""
    opened: dict[object, Firing] = {}
    found: list[Firing] = []
    quiet_after = rule.quiet_after
    for change in changes:
        if not fits(rule, change):
            continue
        at, group = change.transition.at, rule.group_of(change)
        before = opened.get(group)
        if before is not None and before.ends is not None and at <= before.ends:
            opened[group] = replace(before, ends=at + quiet_after, changes=before.changes + 1)
            continue
        if before is not None:
            found.append(before)
        named = tuple(pair for pair in group if pair[0] != Dimension.NETWORK)
        opened[group] = Firing(at, at + quiet_after, change.transition.subject.network_id, named)
    return sorted([*found, *opened.values()], key=lambda each: each.at)


def firings_of_conditions(rule: Rule, transitions: Iterable[Transition]) -> list[Firing]:
    """Return each time that a condition would have fired, until its end; oldest first.

    A condition that ended within the rule's pending period never fired.
    """
    lasting: dict[Subject, Firing] = {}
    found: list[Firing] = []
    for each in transitions:
        if not fits(rule, ObservedChange(each)):
            continue
        begun = lasting.pop(each.subject, None)
        if begun is not None:
            found.append(replace(begun, ends=each.at))
        if each.after.is_open:
            lasting[each.subject] = Firing(each.at, None, each.subject.network_id)
    wait = rule.incident_pending
    fired = [
        replace(each, at=each.at + wait)
        for each in (*found, *lasting.values())
        if each.ends is None or each.ends - each.at >= wait
    ]
    return sorted(fired, key=lambda each: each.at)


def fired_spells(rule: Rule, spells: Iterable[Excess]) -> Iterator[Excess]:
    """Yield the times in which a rule would have fired, with its hold periods applied."""
    fired: Excess | None = None
    for spell in spells:
        if fired is not None and spell.begins - fired.ends <= rule.keep_firing:
            fired = fired._replace(ends=spell.ends)
            continue
        if fired is not None:
            yield fired._replace(ends=fired.ends + rule.keep_firing)
            fired = None
        if not rule.pending or spell.ends - spell.begins > rule.pending:
            fired = Excess(spell.begins + rule.pending, spell.ends)
    if fired is not None:
        yield fired._replace(ends=fired.ends + rule.keep_firing)


def rate_spells(arrivals: Iterable[datetime], measure: RateMeasure) -> Iterator[Excess]:
    """Yield the times in which more arrivals than allowed lay within the window; oldest first."""
    within: deque[datetime] = deque()
    begun: datetime | None = None
    for at, together in groupby(arrivals):
        over = at if begun is None else _over_at(within, measure)
        while within and within[0] <= at - measure.window:
            within.popleft()
        within.extend(together)
        if begun is not None and (over < at or len(within) <= measure.more_than):
            yield Excess(begun, over)
            begun = None
        if begun is None and len(within) > measure.more_than:
            begun = at
    if begun is not None:
        yield Excess(begun, _over_at(within, measure))


def _over_at(within: Sequence[datetime], measure: RateMeasure) -> datetime:
    """Return when the count is back at the allowed number if nothing more arrives."""
    return within[len(within) - measure.more_than - 1] + measure.window


def judged_steps(
    steps: Iterable[FeeSpread], rule: Rule, measure: FeeMeasure
) -> Iterator[JudgedValue]:
    """Evaluate short steps of which only the lowest and the highest fee are kept.

    With a pending period a step counts if all of its fees are beyond; without one, any will do.
    """
    is_beyond = _beyond(measure, is_any=not rule.pending)
    for step in steps:
        yield JudgedValue(step.begins, is_beyond(step))
        yield JudgedValue(step.ends, is_beyond(step))


def fired_of_fees(
    rule: Rule, network_id: NetworkId, values: Iterable[JudgedValue], silence: timedelta
) -> list[Firing]:
    """Return when a fee rule would have fired, computed like the spells that it reports."""
    holds = HoldPeriods(rule.pending, rule.keep_firing)
    return [
        Firing(each.begins_at + rule.pending, each.ends_at, network_id)
        for each in spells_of(values, holds, silence)
    ]


def _beyond(measure: FeeMeasure, *, is_any: bool) -> Callable[[FeeSpread], bool]:
    limit = measure.limit
    if measure.is_upper:
        return lambda step: (step.highest if is_any else step.lowest) > limit
    return lambda step: (step.lowest if is_any else step.highest) < limit
