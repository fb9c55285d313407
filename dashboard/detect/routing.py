"""Routing: which rules take a change, to which incident it belongs, and what holds it back.

Each rule gives a route of its own; `store/alerts/grouping.py` notifies a recipient of several once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from dashboard.domain.alerts.holding import RuleRoute, hold
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.incident_timers import TIMERS, IncidentTimers
from dashboard.domain.alerts.matcher import ChangeLabels, labels_of
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import ObservedChange, Rule, fits
from dashboard.domain.alerts.silence import (
    SILENCED,
    Silence,
    SilenceKind,
    fitting,
    silenced_by,
)
from dashboard.domain.formatting import moment
from dashboard.domain.people.active_hours import Zones, utc_only


def routes_of(
    rules: Sequence[Rule],
    change: ObservedChange,
    everyone: Sequence[Recipient],
    now: datetime,
    zones: Zones = utc_only,
) -> tuple[RuleRoute, ...]:
    """Return one route for each rule that takes a change, in order; empty if nobody is notified.

    A rule without recipients notifies everyone. During its quiet hours notifications are held.
    """
    return tuple(
        hold(_route(rule, change, everyone), now, zones) for rule in rules if fits(rule, change)
    )


def timers_of(rule: Rule | None) -> IncidentTimers:
    """Return the timers of a rule's incidents; None stands for a rule that was removed."""
    if rule is None:
        return TIMERS
    escalate_after = rule.escalate_after if rule.escalate_to else None
    return IncidentTimers(
        rule.quiet_after, rule.remind_every, escalate_after, rule.incident_pending
    )


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


def withhold(
    route: RuleRoute,
    change: ObservedChange,
    silences: Sequence[Silence],
    now: datetime,
    zones: Zones = utc_only,
) -> RuleRoute:
    """Return the route of a change after applying current silences and maintenance windows.

    Maintenance does not hold urgent changes; a silence withholds these too.
    """
    labels = labels_of(change, route.rule, route.severity)
    silence = silenced_by(silences, labels, now)
    if silence is not None:
        return replace(route, withheld=_in_words(silence))
    return in_maintenance(route, labels, silences, now, zones)


def in_maintenance(
    route: RuleRoute,
    labels: ChangeLabels,
    silences: Sequence[Silence],
    now: datetime,
    zones: Zones = utc_only,
) -> RuleRoute:
    """Return the route of a change held until neither its windows nor quiet hours apply."""
    if route.is_urgent:
        return route
    windows = fitting(silences, SilenceKind.MAINTENANCE, labels)
    return hold(replace(route, windows=windows), now, zones)


def route_of_incident(
    rule: Rule | None, incident: Incident, now: datetime, zones: Zones = utc_only
) -> RuleRoute:
    """Return the route of notifications about an incident, held in its rule's quiet hours.

    None stands for a rule that was removed.
    """
    route = RuleRoute(incident.rule, incident.group, (), severity=incident.severity)
    if rule is None:
        return route
    hours = None if rule.pierces else rule.active_hours
    return hold(replace(route, is_urgent=rule.pierces, active_hours=hours), now, zones)


def hold_all(
    route: RuleRoute,
    each_labels: Iterable[ChangeLabels],
    silences: Sequence[Silence],
    now: datetime,
    zones: Zones = utc_only,
) -> RuleRoute:
    """Return the route of notifications about an incident, held while all its changes are."""
    held = [in_maintenance(route, labels, silences, now, zones) for labels in each_labels]
    return min(held, key=lambda each: each.held_until or now)


def _in_words(silence: Silence) -> str:
    return (
        f"{SILENCED} {moment(silence.over_at)} by {silence.author}: {silence.request.reason} "
        f"(silence {silence.silence_id})"
    )
