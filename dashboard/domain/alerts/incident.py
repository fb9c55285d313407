"""Incidents: what a rule holds true of a group, and what people do about it."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.formatting import moment
from dashboard.domain.people.access import Actor, parse_name
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.tracking.statements import Statement
from dashboard.errors import InputError

Group: TypeAlias = tuple[tuple[str, str], ...]
"""The names and values that all transitions of an incident share, such as network or module; the
values are foreign text."""

_NETWORK: Final = "network"  # as rules group by it
QUIET_AFTER: Final = timedelta(minutes=15)
"""How long after its last transition an incident of transactions ends: a rejection itself never
ends."""

LONGEST_NOTE: Final = 300
"""Characters of a person's note about an incident."""


class IncidentState(StrEnum):
    """The state of an incident.

    PENDING: seen, but not yet for as long as its rule wants: nobody is notified before `next_at`.
    FIRING: people are notified. ACKNOWLEDGED: somebody owns it. SILENCED: a silence or a
    maintenance window holds back everything about it. NO_DATA: what it rests on does not answer, so
    nobody knows whether it lasts. RESOLVED: it is over.
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


class Incident(Struct, frozen=True):
    """One incident of a rule; `kind` is the kind of the rule, as `RuleKind` writes it.

    It lasts from `opened_at` to `resolved_at`, the times of the trouble itself; `changed_at` is
    when its last transition was concluded, and `transitions` counts them. `troubled` counts the
    subjects, other than transactions, that are in trouble now. `next_at` is when a timer next
    changes the incident, None if none does. `version` counts how often the incident was stored.
    `owner` is the name of the person who acknowledged it, empty if nobody did: foreign text.
    `reminders` counts the reminders, the last one sent at `reminded_at`. `notified_at` is when the
    first message about it was tried, None if none was, or if release 0.1.0 did that.
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
        return self.state is not IncidentState.RESOLVED

    @property
    def was_cut_short(self) -> bool:
        """Whether a person, or a change of the rules, ended it while what it is about lasted."""
        return self.resolved_at is not None and self.troubled > 0

    @property
    def network_id(self) -> NetworkId | None:
        """The network that all of its changes share, None if the rule does not group by network."""
        text = dict(self.group).get(_NETWORK)
        return None if text is None else NetworkId(int(text))

    @property
    def key(self) -> str:
        """A key that no other open incident has."""
        return incident_key(self.rule, self.group)


class IncidentEvent(Struct, frozen=True):
    """One line of the story of an incident; `actor` is empty if no person acted.

    `owner` is the person to whom it was handed over.
    """

    at: datetime
    kind: IncidentEventKind
    transitions: int = 0
    actor: str = ""
    note: str = ""
    owner: str = ""


def incident_key(rule: str, group: Group) -> str:
    """Return a digest of a rule and a group."""
    words = (rule, *(word for pair in sorted(group) for word in pair))
    text = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def open_incident(
    transition: Transition,
    *,
    rule: str,
    kind: str,
    severity: str,
    group: Group,
    quiet_after: timedelta = QUIET_AFTER,
    pending: timedelta = timedelta(),
) -> Incident:
    """Open an incident of a rule with its first transition; the same transition gives the same id.

    It fires at once, or after `pending`. If the transition ends a condition, the incident is
    resolved right away: the rule is newer than the condition.
    """
    beginning = Incident(
        incident_id=uuid5(transition.transition_id, rule),
        rule=rule,
        kind=kind,
        severity=severity,
        group=group,
        state=IncidentState.PENDING if pending else IncidentState.FIRING,
        opened_at=transition.began_at,
        changed_at=transition.at,
        transitions=0,
        next_at=transition.at + pending if pending else None,
    )
    return grow(beginning, transition, quiet_after)


def grow(
    incident: Incident, transition: Transition, quiet_after: timedelta, *, is_counted: bool = True
) -> Incident:
    """Add one more transition; once the last subject in trouble recovers, it is resolved.

    `is_counted`: the trouble that the transition ends, if it does, began in this incident, rather
    than while its rule was off, or in an earlier incident that a person resolved.
    """
    at = max(incident.changed_at, transition.at)
    grown = replace(incident, changed_at=at, transitions=incident.transitions + 1)
    if transition.subject.tx_hash is not None:
        return replace(grown, next_at=at + quiet_after)
    was_open = transition.before is not None and transition.before.is_open
    troubled = max(0, incident.troubled + transition.after.is_open - (was_open and is_counted))
    grown = replace(grown, troubled=troubled)
    return grown if troubled else resolve(grown, max(incident.opened_at, transition.began_at))


def resolve(incident: Incident, at: datetime) -> Incident:
    return replace(incident, state=IncidentState.RESOLVED, resolved_at=at, next_at=None)


class IncidentResponse(Struct, frozen=True):
    """An incident after a person acted on it, and the line of its story; None if nothing changed.

    `others` are incidents that changed too, because every change of theirs is also part of this
    one.
    """

    incident: Incident
    event: IncidentEvent | None = None
    others: tuple[Incident, ...] = ()


def acknowledge(incident: Incident, by: Actor, note: str = "") -> IncidentResponse:
    """Make a person the owner; nothing changes if the incident has one.

    InputError if it is resolved, or pending, since nobody has been notified of it yet.
    """
    _refuse_over(incident, note)
    _refuse_pending(incident)
    if incident.owner:
        return IncidentResponse(incident)
    held = replace(incident, state=IncidentState.ACKNOWLEDGED, owner=by.name)
    return _changed(held, IncidentEventKind.ACKNOWLEDGED, by, note)


def unacknowledge(incident: Incident, by: Actor, note: str = "") -> IncidentResponse:
    """Remove the owner; nothing changes if there is none.

    If nobody heard of what lasts, it counts as silenced until people are notified of it.
    """
    _refuse_over(incident, note)
    if not incident.owner:
        return IncidentResponse(incident)
    is_unheard = incident.troubled > 0 and incident.notified_at is None
    state = IncidentState.SILENCED if is_unheard else IncidentState.FIRING
    free = replace(incident, state=state, owner="")
    return _changed(free, IncidentEventKind.UNACKNOWLEDGED, by, note)


def hand_over(incident: Incident, to: str, by: Actor, note: str = "") -> IncidentResponse:
    """Make another person the owner, acknowledged or not; nothing changes if they already are.

    InputError as for `acknowledge`.
    """
    _refuse_over(incident, note)
    _refuse_pending(incident)
    owner = parse_name(to)
    if incident.owner == owner:
        return IncidentResponse(incident)
    held = replace(incident, state=IncidentState.ACKNOWLEDGED, owner=owner)
    event = IncidentEvent(
        by.at, IncidentEventKind.HANDED_OVER, actor=by.name, note=note, owner=owner
    )
    return IncidentResponse(held, event)


def declare_resolved(incident: Incident, by: Actor, note: str = "") -> IncidentResponse:
    """Resolve the incident for good: later changes open a new one. Repeating changes nothing."""
    if not incident.is_open:
        return IncidentResponse(incident)
    _refuse_over(incident, note)
    return _changed(resolve(incident, by.at), IncidentEventKind.RESOLVED, by, note)


def close_unreported(incident: Incident, by: Actor, why: str) -> IncidentResponse:
    """Resolve an incident that its rule no longer reports; whoever heard of it is due a note."""
    closed = _changed(resolve(incident, by.at), IncidentEventKind.RESOLVED, by, why)
    return replace(closed, incident=replace(closed.incident, next_at=by.at))


def _changed(incident: Incident, kind: IncidentEventKind, by: Actor, note: str) -> IncidentResponse:
    return IncidentResponse(incident, IncidentEvent(by.at, kind, actor=by.name, note=note))


def _refuse_over(incident: Incident, note: str) -> None:
    if len(note) > LONGEST_NOTE:
        raise InputError(f"the note has {len(note):,} characters: write at most {LONGEST_NOTE}")
    if incident.resolved_at is not None:
        raise InputError(f"this incident was resolved on {moment(incident.resolved_at)}")


def _refuse_pending(incident: Incident) -> None:
    if incident.state is IncidentState.PENDING and incident.next_at is not None:
        raise InputError(
            f"this incident is pending until {moment(incident.next_at)}: nobody is notified before "
            "that, and not at all if it ends before; resolve it, or silence it"
        )


class NotifiedChange(Struct, frozen=True):
    """A transition with what a message says about it.

    `opened_at` is when the condition began that this changes or ends, None if it begins one.
    `previous` is the record before a change of record, if it is still kept. `label` and
    `attempted_at` come from the tracked transaction: foreign text, and None if nobody knows when it
    was sent. `ended` is the transition that ended the condition of a network which this opened,
    None while it lasts. `statements` are what exclusion endpoints say of the transaction, if that
    is more than a record.
    """

    transition: Transition
    rejection: StoredRejection | None = None
    opened_at: datetime | None = None
    previous: StoredRejection | None = None
    label: str = ""
    attempted_at: datetime | None = None
    ended: Transition | None = None
    statements: tuple[Statement, ...] = ()

    @property
    def is_changed_record(self) -> bool:
        """Whether a known rejection has a new record, rather than a new rejection."""
        return self.transition.before is self.transition.after
