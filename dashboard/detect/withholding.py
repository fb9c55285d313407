"""Withholding: what a silence keeps from everybody, and what maintenance holds until it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from dashboard.detect.routing import hold_in_quiet_hours
from dashboard.domain.active_hours import Zones, utc_only
from dashboard.domain.formatting import moment
from dashboard.domain.matcher import ChangeFacts, RuleFacts, facts_of
from dashboard.domain.route import RuleRoute, window_key
from dashboard.domain.rule import ObservedChange
from dashboard.domain.silence import SILENCED, Silence, held_by, silenced_by


def withhold(
    route: RuleRoute,
    change: ObservedChange,
    silences: Sequence[Silence],
    now: datetime,
    zones: Zones = utc_only,
) -> RuleRoute:
    """Return the route of a change as the silences and maintenance windows of this moment leave it.

    What is urgent is not held by maintenance; a silence keeps that from everybody, too.
    """
    facts = facts_of(change, RuleFacts(route.rule, route.severity))
    silence = silenced_by(silences, facts, now)
    if silence is not None:
        return replace(route, withheld=_in_words(silence))
    return hold(route, facts, silences, now, zones)


def hold(
    route: RuleRoute,
    facts: ChangeFacts,
    silences: Sequence[Silence],
    now: datetime,
    zones: Zones = utc_only,
) -> RuleRoute:
    """Return a route held until neither a maintenance window nor quiet hours are on.

    One may begin before the other ends.
    """
    if route.is_urgent:
        return route
    while windows := held_by(silences, facts, route.held_until or now):
        last = windows[-1]
        by = (window_key(each.silence_id) for each in windows)
        held = route.hold_until(last.over_at, _of_window(last), *by)
        route = hold_in_quiet_hours(held, zones, last.over_at)
    return route


def _of_window(window: Silence) -> str:
    return f"maintenance window {window.silence_id} by {window.author}: {window.wish.reason}"


def _in_words(silence: Silence) -> str:
    return (
        f"{SILENCED} {moment(silence.over_at)} by {silence.author}: {silence.wish.reason} "
        f"(silence {silence.silence_id})"
    )
