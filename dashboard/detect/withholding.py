"""Withholding: what a silence keeps from everybody, and what maintenance holds until it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from dashboard.domain.formatting import moment
from dashboard.domain.matcher import RuleFacts, facts_of
from dashboard.domain.route import RuleRoute
from dashboard.domain.rule import ObservedChange
from dashboard.domain.silence import Silence, held_by, silenced_by


def withhold(
    route: RuleRoute, change: ObservedChange, silences: Sequence[Silence], now: datetime
) -> RuleRoute:
    """Return the route of a change as the silences and maintenance windows of this moment leave it.

    What is urgent is not held by maintenance; a silence keeps that from everybody, too.
    """
    facts = facts_of(change, RuleFacts(route.rule, route.severity))
    silence = silenced_by(silences, facts, now)
    if silence is not None:
        return replace(route, withheld=_in_words(silence))
    window = None if route.is_urgent else held_by(silences, facts, now)
    if window is None or window.over_at <= (route.held_until or now):
        return route
    return replace(route, held_until=window.over_at, held_for=_of_window(window))


def _of_window(window: Silence) -> str:
    return f"maintenance window {window.silence_id} by {window.author}: {window.wish.reason}"


def _in_words(silence: Silence) -> str:
    return (
        f"silenced until {moment(silence.over_at)} by {silence.author}: {silence.wish.reason} "
        f"(silence {silence.silence_id})"
    )
