"""Routes: what one rule makes of a transition, an incident to belong to and people to notify."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from dashboard.domain.active_hours import ActiveHours
from dashboard.domain.incident import Group
from dashboard.domain.incident_timers import TIMERS, IncidentTimers
from dashboard.domain.notification import Recipient
from dashboard.domain.rule import GROUP_WAIT, RuleKind

_AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RuleRoute:
    """One rule that fits a transition.

    `group_wait` is how long followers are gathered, `timers` what time does to its incidents.
    What `is_urgent` is neither capped nor held.
    `withheld` says why nobody is notified, empty where people are; `held_until` is before when not,
    and `held_for` why.
    """

    rule: str
    group: Group
    recipients: tuple[Recipient, ...]
    kind: RuleKind = RuleKind.REJECTED
    severity: str = "warning"
    group_wait: timedelta = GROUP_WAIT
    timers: IncidentTimers = TIMERS
    is_urgent: bool = False
    withheld: str = ""
    held_until: datetime | None = None
    active_hours: ActiveHours | None = None
    held_for: str = ""

    @property
    def rank(self) -> tuple[bool, bool, datetime]:
        """Order routes of one change by it: a recipient is reached by the one that is soonest."""
        return bool(self.withheld), not self.is_urgent, self.held_until or _AT_ONCE
