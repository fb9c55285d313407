"""What people do about an incident: acknowledge or unacknowledge it, hand it over, resolve it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dashboard.domain.audit import Actor, parse_name
from dashboard.domain.formatting import moment
from dashboard.domain.incident import (
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
    resolve,
)
from dashboard.errors import InputError

LONGEST_NOTE: Final = 300
"""Characters of what a person says about an incident."""


@dataclass(frozen=True, slots=True)
class IncidentResponse:
    """An incident as a person left it, and the line of its story; None where nothing changed.

    `others` are incidents that were changed likewise, since every change of theirs is in it.
    """

    incident: Incident
    event: IncidentEvent | None = None
    others: tuple[Incident, ...] = ()


def acknowledge(incident: Incident, by: Actor, note: str = "") -> IncidentResponse:
    """Make a person its owner; nothing changes where it has one.

    InputError where it is over, or pending: nobody is notified of it yet.
    """
    _refuse_over(incident, note)
    _refuse_pending(incident)
    if incident.owner:
        return IncidentResponse(incident)
    held = replace(incident, state=IncidentState.ACKNOWLEDGED, owner=by.name)
    return _changed(held, IncidentEventKind.ACKNOWLEDGED, by, note)


def unacknowledge(incident: Incident, by: Actor, note: str = "") -> IncidentResponse:
    """Leave it without an owner; nothing changes where it had none."""
    _refuse_over(incident, note)
    if not incident.owner:
        return IncidentResponse(incident)
    free = replace(incident, state=IncidentState.FIRING, owner="")
    return _changed(free, IncidentEventKind.UNACKNOWLEDGED, by, note)


def hand_over(incident: Incident, to: str, by: Actor, note: str = "") -> IncidentResponse:
    """Make another person its owner, acknowledged or not; nothing changes where they are.

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
    """End it for good: what happens later is a new incident. The second time nothing changes."""
    if not incident.is_open:
        return IncidentResponse(incident)
    _refuse_over(incident, note)
    return _changed(resolve(incident, by.at), IncidentEventKind.RESOLVED, by, note)


def close_unreported(incident: Incident, by: Actor, why: str) -> IncidentResponse:
    """End an incident that its rule no longer reports; it is due for a note to who heard of it."""
    closed = _changed(resolve(incident, by.at), IncidentEventKind.RESOLVED, by, why)
    return replace(closed, incident=replace(closed.incident, next_at=by.at))


def _changed(incident: Incident, kind: IncidentEventKind, by: Actor, note: str) -> IncidentResponse:
    return IncidentResponse(incident, IncidentEvent(by.at, kind, actor=by.name, note=note))


def _refuse_over(incident: Incident, note: str) -> None:
    if len(note) > LONGEST_NOTE:
        raise InputError(f"the note has {len(note):,} characters: write at most {LONGEST_NOTE}")
    if incident.resolved_at is not None:
        raise InputError(f"this incident is resolved since {moment(incident.resolved_at)}")


def _refuse_pending(incident: Incident) -> None:
    if incident.state is IncidentState.PENDING and incident.next_at is not None:
        raise InputError(
            f"this incident is pending until {moment(incident.next_at)}: nobody is notified before "
            "that, and not at all if it ends before; resolve it, or silence it"
        )
