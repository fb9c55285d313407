"""Routes: what one rule makes of a transition, an incident to belong to and people to notify."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.domain.incident import QUIET_AFTER, Group
from dashboard.domain.incident_timers import IncidentTimers
from dashboard.domain.notification import Recipient
from dashboard.domain.rule import GROUP_WAIT


@dataclass(frozen=True, slots=True)
class RuleRoute:
    """One rule that fits a transition.

    `group_wait` is how long followers are gathered, `quiet_after` how long after its last
    transition an incident of rejections ends. What `is_urgent` is neither capped nor held.
    `withheld` says why nobody is notified, empty where people are; `held_until` is before when not.
    """

    rule: str
    group: Group
    recipients: tuple[Recipient, ...]
    severity: str = "warning"
    group_wait: timedelta = GROUP_WAIT
    quiet_after: timedelta = QUIET_AFTER
    is_urgent: bool = False
    remind_every: timedelta | None = None
    escalate_after: timedelta | None = None
    withheld: str = ""
    held_until: datetime | None = None

    @property
    def timers(self) -> IncidentTimers:
        """What time does to incidents of this rule."""
        return IncidentTimers(self.quiet_after, self.remind_every, self.escalate_after)
