"""What time alone does to an incident: it fires, ends, is repeated, escalates or speaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from dashboard.domain.incident import (
    QUIET_AFTER,
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
    resolve,
)

IncidentChange: TypeAlias = tuple[Incident, IncidentEvent]
"""An incident after something happened to it, and the line of its story."""


@dataclass(frozen=True, slots=True)
class IncidentTimers:
    """How long a rule lets things be; None for what time never does.

    `pending` is how long an incident lasts before anybody is notified of it.
    """

    quiet_after: timedelta = QUIET_AFTER
    remind_every: timedelta | None = None
    escalate_after: timedelta | None = None
    pending: timedelta = timedelta()


TIMERS: Final = IncidentTimers()

LOOK_AGAIN: Final = timedelta(minutes=1)
"""How often what is silent is looked at for an incident without data."""

LOOKED_AWAY: Final = timedelta(minutes=1)
"""Where nobody looked for so long when an incident was to fire, whether it lasted is not known."""


class Upcoming(NamedTuple):
    """What time will do to an incident, if nobody takes it in hand before."""

    at: datetime
    kind: IncidentEventKind


def timed(incident: Incident, timers: IncidentTimers) -> Incident:
    """Set when time alone changes an incident next; of what is pending or unknown that stands."""
    if incident.state in {IncidentState.PENDING, IncidentState.NO_DATA}:
        return incident
    if not incident.is_open:
        return replace(incident, next_at=None)
    moments = (
        _quiet_at(incident, timers),
        _escalation_at(incident, timers),
        _reminder_at(incident, timers),
    )
    return replace(incident, next_at=min(filter(None, moments), default=None))


def pass_time(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange | None:
    """Return what time did to an open incident by now, one thing at a time; None for nothing.

    An incident that nobody took in hand escalates before anybody is reminded.
    """
    for due, act in (
        (_quiet_at(incident, timers), _went_quiet),
        (_escalation_at(incident, timers), _escalated),
        (_reminder_at(incident, timers), _reminded),
    ):
        if due is not None and due <= now:
            return act(incident, timers, now)
    return None


def upcoming(incident: Incident, timers: IncidentTimers) -> Upcoming | None:
    """Return when people hear of an open incident next, and how; None where they need not."""
    found = (
        (_escalation_at(incident, timers), IncidentEventKind.ESCALATED),
        (_reminder_at(incident, timers), IncidentEventKind.REMINDED),
    )
    return min((Upcoming(at, kind) for at, kind in found if at is not None), default=None)


def lose_data(incident: Incident, silent: str, now: datetime) -> IncidentChange | None:
    """Note that nobody knows whether an incident lasts, since what it rests on is silent.

    None where that is noted. Nobody is reminded of it, and it does not escalate. What somebody has
    in hand stays so.
    """
    if incident.state is not IncidentState.FIRING:
        return None
    unknown = replace(incident, state=IncidentState.NO_DATA, next_at=now + LOOK_AGAIN)
    return unknown, IncidentEvent(now, IncidentEventKind.NO_DATA, note=silent)


def regain_data(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    """Let an incident fire again of which it is known that it lasts."""
    known = timed(replace(incident, state=IncidentState.FIRING), timers)
    return known, IncidentEvent(now, IncidentEventKind.JUDGED_AGAIN)


def silence(incident: Incident, until: datetime, now: datetime) -> IncidentChange | None:
    """Silence an incident of which nobody is to hear until then; None where it is already.

    What somebody has in hand stays so: nobody is reminded of it anyhow.
    """
    state = incident.state
    if state is IncidentState.FIRING:
        state = IncidentState.SILENCED
    silent = replace(incident, state=state, next_at=until)
    event = IncidentEvent(now, IncidentEventKind.SILENCED)
    is_known = incident.state is silent.state and incident.next_at == until
    return None if is_known else (silent, event)


def end_silence(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    """Let an incident fire again that lasts longer than its silence: people are reminded of it."""
    return _reminded(replace(incident, state=IncidentState.FIRING), timers, now)


def fire(
    incident: Incident, timers: IncidentTimers, now: datetime, silent: str = ""
) -> IncidentChange:
    """Let a pending incident fire that has lasted; where that is not known it waits once more.

    That is while what it rests on is `silent`, which says why, and where nobody looked when it was
    to fire: the worker was away, or the clock was set.
    """
    was_away = incident.next_at is not None and now - incident.next_at > LOOKED_AWAY
    if timers.pending and (silent or was_away):
        waiting = replace(incident, next_at=now + timers.pending)
        note = silent or "nobody looked when it was to fire"
        return waiting, IncidentEvent(now, IncidentEventKind.WAITS_AGAIN, note=note)
    fired = timed(replace(incident, state=IncidentState.FIRING), timers)
    return fired, IncidentEvent(now, IncidentEventKind.FIRED)


def _quiet_at(incident: Incident, timers: IncidentTimers) -> datetime | None:
    """When an incident of transactions is over: not before it escalated, if it is to."""
    if incident.troubled:
        return None
    escalation_at = incident.escalated_at or _escalation_at(incident, timers)
    last = max(incident.changed_at, escalation_at or incident.changed_at)
    return last + timers.quiet_after


def _escalation_at(incident: Incident, timers: IncidentTimers) -> datetime | None:
    is_waiting = incident.state is IncidentState.FIRING and incident.escalated_at is None
    if timers.escalate_after is None or not is_waiting:
        return None
    return incident.opened_at + timers.pending + timers.escalate_after


def _reminder_at(incident: Incident, timers: IncidentTimers) -> datetime | None:
    if timers.remind_every is None or incident.state is not IncidentState.FIRING:
        return None
    last = incident.reminded_at or incident.opened_at + timers.pending
    return last + timers.remind_every


def _went_quiet(incident: Incident, _: IncidentTimers, now: datetime) -> IncidentChange:
    return resolve(incident, now), IncidentEvent(now, IncidentEventKind.RESOLVED)


def _escalated(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    higher = replace(incident, escalated_at=now)
    return timed(higher, timers), IncidentEvent(now, IncidentEventKind.ESCALATED)


def _reminded(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    again = replace(incident, reminders=incident.reminders + 1, reminded_at=now)
    return timed(again, timers), IncidentEvent(now, IncidentEventKind.REMINDED)
