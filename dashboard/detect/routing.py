"""Routing: which rules a change concerns, and the incident that each of them puts it into."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dashboard.domain.active_hours import ActiveHours, Zones, utc_only
from dashboard.domain.incident import QUIET_AFTER
from dashboard.domain.incident_timers import TIMERS, IncidentTimers
from dashboard.domain.notification import Recipient
from dashboard.domain.route import BY_QUIET_HOURS, RuleRoute
from dashboard.domain.rule import ObservedChange, Rule, fits


def routes_of(
    rules: Sequence[Rule],
    change: ObservedChange,
    everyone: Sequence[Recipient],
    now: datetime,
    zones: Zones = utc_only,
) -> tuple[RuleRoute, ...]:
    """Return one route for each rule that fits, in their order; none where nobody is notified.

    A rule without recipients notifies everyone. In its quiet hours what it notifies of is held.
    """
    return tuple(
        hold_in_quiet_hours(_route(rule, change, everyone), zones, now)
        for rule in rules
        if fits(rule, change)
    )


def timers_of(rule: Rule | None) -> IncidentTimers:
    """Return what time does to the incidents of a rule; None for one that is gone."""
    if rule is None:
        return TIMERS
    quiet_after = rule.incident_keep_firing or QUIET_AFTER
    escalate_after = rule.escalate_after if rule.escalate_to else None
    return IncidentTimers(quiet_after, rule.remind_every, escalate_after, rule.incident_pending)


def quiet_until(rule: Rule, zones: Zones, now: datetime) -> datetime | None:
    """Return the end of a rule's quiet hours; None outside of them, or where it pierces them."""
    return None if rule.pierces else _opens_after(rule.active_hours, zones, now)


def hold_in_quiet_hours(route: RuleRoute, zones: Zones, at: datetime) -> RuleRoute:
    """Return a route held until its quiet hours end; the same where none are on at a moment."""
    until = _opens_after(route.active_hours, zones, at)
    if until is None:
        return route
    return route.hold_until(until, quiet_hours_of(route.rule), BY_QUIET_HOURS)


def _opens_after(hours: ActiveHours | None, zones: Zones, at: datetime) -> datetime | None:
    if hours is None:
        return None
    opens = hours.next_on(at, zones(hours.zone))
    return opens if opens > at else None


def quiet_hours_of(rule: str) -> str:
    """Say what holds notifications of a rule outside of its active hours."""
    return f"quiet hours of the rule {rule}"


def _route(rule: Rule, change: ObservedChange, everyone: Sequence[Recipient]) -> RuleRoute:
    return RuleRoute(
        rule=rule.name,
        group=tuple((str(name), value) for name, value in rule.group_of(change)),
        recipients=rule.recipients or tuple(everyone),
        kind=rule.kind,
        severity=str(rule.severity),
        group_wait=rule.group_wait,
        timers=timers_of(rule),
        is_urgent=rule.pierces,
        active_hours=None if rule.pierces else rule.active_hours,
    )
