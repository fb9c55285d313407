"""Incidents: what a rule holds true of a group, from its opening to its end."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID, uuid5

from dashboard.domain.condition import Transition
from dashboard.domain.quantity import NetworkId

Group: TypeAlias = tuple[tuple[str, str], ...]
"""What the transitions of an incident have in common: names such as network or module, with their
values; foreign text."""

_NETWORK: Final = "network"  # as rules group by it
QUIET_AFTER: Final = timedelta(minutes=15)
"""How long after its last transition an incident of transactions ends: no rejection ever does."""


class IncidentState(StrEnum):
    """Where an incident stands.

    PENDING: seen, but not for as long as its rule wants: nobody is notified before `next_at`.
    FIRING: people are notified. ACKNOWLEDGED: somebody owns it. SILENCED: a silence or a
    maintenance window holds everything about it back.
    NO_DATA: what it rests on is silent, so nobody knows whether it lasts. RESOLVED: it is over.
    """

    PENDING = "pending"
    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    SILENCED = "silenced"
    NO_DATA = "no data"
    RESOLVED = "resolved"


class IncidentEventKind(StrEnum):
    """What happened to an incident."""

    OPENED = "opened"
    GREW = "grew"
    WAITS_AGAIN = "waits again"
    NO_DATA = "no data"
    JUDGED_AGAIN = "judged again"
    FIRED = "fired"
    ACKNOWLEDGED = "acknowledged"
    UNACKNOWLEDGED = "unacknowledged"
    SILENCED = "silenced"
    REMINDED = "reminded"
    ESCALATED = "escalated"
    HANDED_OVER = "handed over"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident of a rule; `kind` is that of the rule, as `RuleKind` writes it.

    It lasts from `opened_at` to `resolved_at`, as what it is about did; `changed_at` is when its
    last transition was concluded, `transitions` counts them. `troubled` counts
    the subjects of networks that are in trouble now. `next_at` is when time alone changes it, None
    where it never does. `version` counts what was stored of it. `owner` is the name of the person
    who acknowledged it, empty where nobody did: foreign text. `reminders` counts how often people
    were reminded, the last time at `reminded_at`. `notified_at` is when the first message about it
    was tried, None where none was, or where release 0.1.0 did that.
    """

    incident_id: UUID
    rule: str
    kind: str
    severity: str
    group: Group
    state: IncidentState
    opened_at: datetime
    changed_at: datetime
    transitions: int = 1
    troubled: int = 0
    next_at: datetime | None = None
    resolved_at: datetime | None = None
    version: int = 1
    owner: str = ""
    reminders: int = 0
    reminded_at: datetime | None = None
    escalated_at: datetime | None = None
    notified_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is not over."""
        return self.state is not IncidentState.RESOLVED

    @property
    def network_id(self) -> NetworkId | None:
        """The network that all of its changes share, None where they need not."""
        text = dict(self.group).get(_NETWORK)
        return None if text is None else NetworkId(int(text))

    @property
    def key(self) -> str:
        """What no two open incidents share."""
        return incident_key(self.rule, self.group)


@dataclass(frozen=True, slots=True)
class IncidentEvent:
    """One line of the story of an incident; `actor` is empty where nobody acted.

    `owner` is to whom it was handed over.
    """

    at: datetime
    kind: IncidentEventKind
    transitions: int = 0
    actor: str = ""
    note: str = ""
    owner: str = ""


def incident_key(rule: str, group: Group) -> str:
    """Return a short text that stands for a rule and a group."""
    words = (rule, *(word for pair in sorted(group) for word in pair))
    text = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class OpeningRule(NamedTuple):
    """What a rule gives to each incident that it opens."""

    name: str
    kind: str
    severity: str


def open_incident(
    rule: OpeningRule,
    group: Group,
    transition: Transition,
    quiet_after: timedelta,
    pending: timedelta = timedelta(),
) -> Incident:
    """Open an incident with its first transition; its id follows from both, always the same.

    It fires at once, or after `pending`. Where the transition ends a condition, nothing is open
    afterwards: the rule came later than its beginning.
    """
    beginning = Incident(
        incident_id=uuid5(transition.transition_id, rule.name),
        rule=rule.name,
        kind=rule.kind,
        severity=rule.severity,
        group=group,
        state=IncidentState.PENDING if pending else IncidentState.FIRING,
        opened_at=transition.began_at,
        changed_at=transition.at,
        transitions=0,
        next_at=transition.at + pending if pending else None,
    )
    return grow(beginning, transition, quiet_after)


def grow(incident: Incident, transition: Transition, quiet_after: timedelta) -> Incident:
    """Take in one more transition; with the last subject that recovers the incident is over."""
    at = max(incident.changed_at, transition.at)
    grown = replace(incident, changed_at=at, transitions=incident.transitions + 1)
    if transition.subject.tx_hash is not None:
        return replace(grown, next_at=at + quiet_after)
    was_open = transition.before is not None and transition.before.is_open
    troubled = max(0, incident.troubled + transition.after.is_open - was_open)
    grown = replace(grown, troubled=troubled)
    return grown if troubled else resolve(grown, max(incident.opened_at, transition.began_at))


def resolve(incident: Incident, at: datetime) -> Incident:
    """End an incident."""
    return replace(incident, state=IncidentState.RESOLVED, resolved_at=at, next_at=None)
