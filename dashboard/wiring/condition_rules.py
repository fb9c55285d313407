"""The rules of conditions from [alerts], for the worker that decides and the pages that show."""

from __future__ import annotations

from dashboard.detect.conditions import ConditionRules, HoldRule
from dashboard.settings import Settings


def condition_rules(settings: Settings) -> ConditionRules:
    """Return the rules that the settings give."""
    alerts = settings.alerts
    return ConditionRules(
        busy=HoldRule(alerts.busy_pending, alerts.busy_keep_firing),
        silence=HoldRule(alerts.silence_pending, alerts.silence_keep_firing),
        staleness=HoldRule(alerts.stale_pending),
    )
