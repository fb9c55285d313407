"""Routes: what one rule makes of a transition, an incident to belong to and people to notify."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from dashboard.domain.active_hours import ActiveHours
from dashboard.domain.condition import SubjectKind, Transition
from dashboard.domain.incident import Group
from dashboard.domain.incident_timers import TIMERS, IncidentTimers
from dashboard.domain.notification import Recipient
from dashboard.domain.recipients import RecipientDirectory
from dashboard.domain.rule import GROUP_WAIT, RuleKind

BY_QUIET_HOURS: Final = "quiet-hours"
"""Stands for quiet hours among what holds a notification."""

_AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RuleRoute:
    """One rule that fits a transition.

    `group_wait` is how long followers are gathered, `timers` what time does to its incidents.
    What `is_urgent` is neither capped nor held.
    `withheld` says why nobody is notified, empty where people are; `held_until` is before when not,
    `held_for` says why, and `held_by` names what holds it, with blanks between.
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
    held_by: str = ""

    @property
    def rank(self) -> tuple[bool, bool, datetime]:
        """Order routes of one change by it: a recipient is reached by the one that is soonest."""
        return bool(self.withheld), not self.is_urgent, self.held_until or _AT_ONCE

    def hold_until(self, until: datetime, why: str, *by: str) -> RuleRoute:
        """Return it held until a moment, by these beside what holds it already."""
        held_by = " ".join(filter(None, (self.held_by, *by)))
        return replace(self, held_until=until, held_for=why, held_by=held_by)

    def wait_for(self, transition: Transition, *, is_new: bool) -> timedelta:
        """Return how long a notification that begins with a transition gathers others.

        Not at all where it opens its incident, or says how things stand with a network. A new
        version of a rejection is never urgent: the rejection itself was notified.
        """
        is_of_transaction = transition.subject.kind is SubjectKind.TRANSACTION
        if is_of_transaction and (not is_new or transition.before is not None):
            return self.group_wait
        return timedelta()


def window_key(silence_id: int | str) -> str:
    """Return what stands for a maintenance window among what holds a notification."""
    return f"window-{silence_id}"


def held_for(
    recipient: Recipient, route: RuleRoute, directory: RecipientDirectory, now: datetime
) -> RuleRoute:
    """Return a route as it is for one recipient: their quiet hours may hold it for longer."""
    if route.is_urgent:
        return route
    at = route.held_until or now
    until, why = directory.hold(recipient, at, route.held_for)
    return route if until == at else route.hold_until(until, why, BY_QUIET_HOURS)
