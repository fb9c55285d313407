"""The rules of conditions from [alerts], for the worker that decides and the pages that show."""

from __future__ import annotations

from dashboard.detect.condition_start_end import ConditionRules
from dashboard.domain.spells import HoldPeriods
from dashboard.settings import Settings


def condition_rules(settings: Settings) -> ConditionRules:
    """Return the rules that the settings give."""
    alerts = settings.alerts
    return ConditionRules(
        busy=HoldPeriods(alerts.busy_pending, alerts.busy_keep_firing),
        silence=HoldPeriods(alerts.silence_pending, alerts.silence_keep_firing),
        staleness=HoldPeriods(alerts.stale_pending),
    )
