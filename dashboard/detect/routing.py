"""Routing: which rules a change concerns, and the incident that each of them puts it into."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.notification import Recipient
from dashboard.domain.route import RuleRoute
from dashboard.domain.rule import ObservedChange, Rule, fits


def routes_of(
    rules: Sequence[Rule], change: ObservedChange, everyone: Sequence[Recipient]
) -> tuple[RuleRoute, ...]:
    """Return one route for each rule that fits, in their order; none where nothing is news.

    A rule without recipients notifies everyone.
    """
    return tuple(_route(rule, change, everyone) for rule in rules if fits(rule, change))


def _route(rule: Rule, change: ObservedChange, everyone: Sequence[Recipient]) -> RuleRoute:
    return RuleRoute(
        rule=rule.name,
        group=tuple((str(name), value) for name, value in rule.group_of(change)),
        recipients=rule.recipients or tuple(everyone),
        severity=str(rule.severity),
        group_wait=rule.group_wait,
        is_urgent=rule.pierces,
    )
