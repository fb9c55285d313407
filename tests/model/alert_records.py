"""Plain records of the model of alerting: changes, windows, holds, incidents, repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.silence import SilenceKind

Labels: TypeAlias = dict[MatchedProperty, str]
Group: TypeAlias = tuple[tuple[str, str], ...]
About: TypeAlias = tuple[str, Group]
"""What an incident is about: its rule, and what its changes have in common."""

Waiting: TypeAlias = Mapping[About, set[tuple[str, Recipient]]]
"""Of each incident the kinds of reminders and escalations that no worker has claimed, to whom.

Under HEARD are all to whom any message about the incident itself was sent, or will be.
"""

HEARD: Final = "heard"


@dataclass(frozen=True, slots=True)
class Happening:
    """One change: of a transaction, or of a network that is busy now (`opens`) or calm again."""

    transition_id: UUID
    kind: RuleKind
    network: str
    module: str = ""
    stage: str = ""
    opens: bool = True

    @property
    def group(self) -> Group:
        """What it has in common with others by default."""
        return (("network", self.network), ("module", self.module), ("stage", self.stage))


@dataclass(slots=True)
class Window:
    """A silence or a maintenance window, and what it names."""

    kind: SilenceKind
    labels: Labels
    starts_at: datetime
    over_at: datetime
    is_ended: bool = False
    """Whether a person ended it: then it is over for good, whatever clocks show."""

    def covers(self, labels: Labels, at: datetime) -> bool:
        """Whether it lasts at a moment, and fits."""
        is_meant = all(labels[about] == value for about, value in self.labels.items())
        return is_meant and not self.is_ended and self.starts_at <= at < self.over_at


@dataclass(slots=True)
class Hold:
    """What may not be sent before a time of day, or before as much time has passed."""

    until: datetime
    until_elapsed: timedelta
    since_elapsed: timedelta
    rule: str = ""
    labels: Labels = field(default_factory=dict)
    windows: tuple[Window, ...] = ()

    def is_later_than(self, other: Hold, now: datetime, elapsed: timedelta) -> bool:
        """Whether this still holds something, and longer than another would."""
        lasts = self.until > now and self.until_elapsed > elapsed
        return lasts and self.until > other.until


@dataclass(frozen=True, slots=True)
class Repeated:
    """A reminder or an escalation that somebody is to get."""

    about: About
    kind: NotificationKind
    recipient: Recipient
    since_elapsed: timedelta


@dataclass(slots=True)
class OpenIncident:
    """An incident that is not over."""

    rule: str
    severity: str
    group: Group
    opened_at: datetime
    changed_at: datetime
    state: IncidentState = IncidentState.FIRING
    troubled: int = 0
    owner: str = ""
    reminders: int = 0
    reminded_at: datetime | None = None
    escalated_at: datetime | None = None
    notified_at: datetime | None = None
    changes: list[UUID] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)

    def give_back(self) -> None:
        """Let nobody own it: it is silenced if nobody heard of it, and escalates if nobody did."""
        self.owner, is_told = "", self.notified_at or not self.troubled
        self.state = IncidentState.FIRING if is_told else IncidentState.SILENCED
        if all(each.kind is not NotificationKind.ESCALATION for each in self.repeated):
            self.escalated_at = None

    def know_no_later_than(self, now: datetime) -> None:
        """Take what lies ahead for now: the clock was set back."""
        self.opened_at = min(self.opened_at, now)
        self.changed_at = min(self.changed_at, now)
        self.reminded_at = self.reminded_at and min(self.reminded_at, now)
        self.escalated_at = self.escalated_at and min(self.escalated_at, now)
        self.notified_at = self.notified_at and min(self.notified_at, now)
