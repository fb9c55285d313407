"""What time alone does to an incident: it fires, goes quiet, is repeated or escalates."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.incident import (
    QUIET_AFTER,
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentState,
    resolve,
)

IncidentChange: TypeAlias = tuple[Incident, IncidentEvent]
"""An incident after something happened to it, and the line of its story."""

NO_DATA_PERIOD: Final = timedelta(minutes=1)
"""How often an incident without data is checked."""

LONGEST_ABSENCE: Final = timedelta(minutes=1)
"""If no worker was running for this long when an incident was due to fire, nobody knows whether it
lasted."""


class IncidentTimers(Struct, frozen=True):
    """The timers of a rule; None turns one off.

    `pending` is how long an incident lasts before anybody is notified of it.
    """

    quiet_after: timedelta = QUIET_AFTER
    remind_every: timedelta | None = None
    escalate_after: timedelta | None = None
    pending: timedelta = timedelta()


TIMERS: Final = IncidentTimers()


class Upcoming(NamedTuple):
    """The next thing that a timer does to an incident, unless somebody acknowledges it first.

    `is_capped`: it would be sooner, but the hourly cap of the recipients delays it.
    """

    at: datetime
    kind: IncidentEventKind
    is_capped: bool = False


def timed(
    incident: Incident, timers: IncidentTimers, silent_until: datetime | None = None
) -> Incident:
    """Set `next_at` to the next timer; a pending incident, or one without data, keeps its own.

    While a silence applies, the incident may go quiet; no other timer runs until the silence ends.
    """
    if incident.state in {IncidentState.PENDING, IncidentState.NO_DATA}:
        return incident
    if not incident.is_open:
        return replace(incident, next_at=None)
    loud = (_escalation_at(incident, timers), _reminder_at(incident, timers))
    moments = (_quiet_at(incident, timers), *(loud if silent_until is None else (silent_until,)))
    return replace(incident, next_at=min(filter(None, moments), default=None))


def no_later_than(incident: Incident, now: datetime) -> Incident:
    """Return an incident without times in the future, which remain when a clock was set back."""
    return replace(
        incident,
        opened_at=min(incident.opened_at, now),
        changed_at=min(incident.changed_at, now),
        reminded_at=incident.reminded_at and min(incident.reminded_at, now),
        escalated_at=incident.escalated_at and min(incident.escalated_at, now),
        notified_at=incident.notified_at and min(incident.notified_at, now),
    )


def pass_time(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange | None:
    """Apply the first timer of an open incident that is due, one at a time; None if none is due.

    An incident that nobody acknowledged escalates before it ends, or anybody is reminded.
    """
    for due, act in (
        (_escalation_at(incident, timers), _escalated),
        (_quiet_at(incident, timers), _went_quiet),
        (_reminder_at(incident, timers), _reminded),
    ):
        if due is not None and due <= now:
            return act(incident, timers, now)
    return None


def upcoming(incident: Incident, timers: IncidentTimers) -> Upcoming | None:
    """Return when and how people are notified of an open incident next; None if they are not."""
    found = (
        (_escalation_at(incident, timers), IncidentEventKind.ESCALATED),
        (_reminder_at(incident, timers), IncidentEventKind.REMINDED),
    )
    return min((Upcoming(at, kind) for at, kind in found if at is not None), default=None)


def lose_data(incident: Incident, silent: str, now: datetime) -> IncidentChange | None:
    """Note that nobody knows whether an incident lasts, since what it rests on does not answer.

    None unless it is firing: an acknowledged incident stays so. Until data is back, nobody is
    reminded of it, and it does not escalate.
    """
    if incident.state is not IncidentState.FIRING:
        return None
    unknown = replace(incident, state=IncidentState.NO_DATA, next_at=now + NO_DATA_PERIOD)
    return unknown, IncidentEvent(now, IncidentEventKind.NO_DATA, note=silent)


def regain_data(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    """Let an incident fire again once it is known that it lasts."""
    known = timed(replace(incident, state=IncidentState.FIRING), timers)
    return known, IncidentEvent(now, IncidentEventKind.JUDGED_AGAIN)


def silence(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange | None:
    """Return what happens to an incident while a silence applies; None for nothing.

    If subjects are in trouble, it is silenced, unless somebody acknowledged it: then nobody is
    reminded anyway. An incident of transactions may go quiet.
    """
    if incident.troubled and incident.state in {IncidentState.FIRING, IncidentState.NO_DATA}:
        silent = replace(incident, state=IncidentState.SILENCED)
        return silent, IncidentEvent(now, IncidentEventKind.SILENCED)
    due = _quiet_at(incident, timers)
    return None if due is None or due > now else _went_quiet(incident, timers, now)


def end_silence(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    """Let an incident that outlasts its silence fire again; people are reminded of it."""
    return _reminded(replace(incident, state=IncidentState.FIRING), timers, now)


def fire(
    incident: Incident, timers: IncidentTimers, now: datetime, silent: str = ""
) -> IncidentChange:
    """Let a pending incident fire if it has lasted; if that is not known, it waits once more.

    It is not known while what it rests on is `silent` (the text says why), or if no worker was
    running when the incident was due to fire, or if the clock was changed: an incident that opened
    in the future shows that it was set back.
    """
    was_away = incident.next_at is not None and now - incident.next_at > LONGEST_ABSENCE
    if timers.pending and (silent or was_away or incident.opened_at > now):
        waiting = replace(no_later_than(incident, now), next_at=now + timers.pending)
        note = silent or "no worker was running when it was to fire"
        return waiting, IncidentEvent(now, IncidentEventKind.WAITS_AGAIN, note=note)
    fired = timed(replace(incident, state=IncidentState.FIRING), timers)
    return fired, IncidentEvent(now, IncidentEventKind.FIRED)


def _quiet_at(incident: Incident, timers: IncidentTimers) -> datetime | None:
    """Return when an incident of transactions goes quiet; if it is to escalate, not before that."""
    if incident.troubled:
        return None
    escalation_at = incident.escalated_at or _escalation_at(incident, timers)
    last = max(incident.changed_at, escalation_at or incident.changed_at)
    return last + timers.quiet_after


def _escalation_at(incident: Incident, timers: IncidentTimers) -> datetime | None:
    is_waiting = incident.state is IncidentState.FIRING and incident.escalated_at is None
    if timers.escalate_after is None or not is_waiting:
        return None
    return _known_since(incident, timers) + timers.escalate_after


def _reminder_at(incident: Incident, timers: IncidentTimers) -> datetime | None:
    if timers.remind_every is None or incident.state is not IncidentState.FIRING:
        return None
    last = incident.reminded_at or _known_since(incident, timers)
    return last + timers.remind_every


def _known_since(incident: Incident, timers: IncidentTimers) -> datetime:
    """Return when it fired, or when the first message about it was tried, if that was later."""
    fired_at = incident.opened_at + timers.pending
    return max(fired_at, incident.notified_at or fired_at)


def _went_quiet(incident: Incident, _: IncidentTimers, now: datetime) -> IncidentChange:
    return resolve(incident, now), IncidentEvent(now, IncidentEventKind.RESOLVED)


def _escalated(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    higher = replace(incident, escalated_at=now)
    return timed(higher, timers), IncidentEvent(now, IncidentEventKind.ESCALATED)


def _reminded(incident: Incident, timers: IncidentTimers, now: datetime) -> IncidentChange:
    again = replace(incident, reminders=incident.reminders + 1, reminded_at=now)
    return timed(again, timers), IncidentEvent(now, IncidentEventKind.REMINDED)
