"""Why a message comes now, as its subject and first sentences say: a reminder, an action, a delay.

They also name the owner of the incident, if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.hourly_cap import LATE_AFTER
from dashboard.domain.alerts.incident import Incident, IncidentEvent
from dashboard.domain.alerts.notification import Delay, Notification, NotificationKind, Recipient
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.formatting import counted, listed, moment_in, span
from dashboard.domain.markup import unlinked, unlinked_name
from dashboard.domain.people.recipients import NOT_VERIFIED, is_called

_LONGEST_NAME: Final = 80
_LONGEST_NOTE: Final = 300
_NOTHING_TO_DO: Final = "You have nothing to do."
_RESOLVED_MEANWHILE: Final = (
    "This incident was resolved meanwhile, by a person or by a change of the rules."
)
_SEVERAL: Final = {
    NotificationKind.REMINDER: (
        *("Reminder", "Reminder: nobody has acknowledged these {} incidents"),
        "",
    ),
    NotificationKind.ESCALATION: (
        *("Escalated to you", "Escalated to you: nobody has acknowledged these {} incidents"),
        "",
    ),
    NotificationKind.ACKNOWLEDGED: (
        *("Acknowledged", "These {} incidents were acknowledged"),
        f"Reminders have stopped. {_NOTHING_TO_DO}",
    ),
    NotificationKind.HANDED_OVER: ("Handed over", "These {} incidents were handed over", ""),
    NotificationKind.UNACKNOWLEDGED: (
        *("Unacknowledged", "These {} incidents were unacknowledged"),
        "They are unassigned now: somebody has to acknowledge them.",
    ),
    NotificationKind.RESOLVED: (
        *("Resolved", "These {} incidents were resolved"),
        f"Later changes open a new incident. {_NOTHING_TO_DO}",
    ),
    NotificationKind.CLOSED: (
        *("Closed", "These {} incidents were closed by a change of the rules"),
        "You will get no more messages about them.",
    ),
    NotificationKind.SUMMARY: ("Summary", "Summary: the state of {} incidents", ""),
}
"""The beginning of the subject, what is true of several incidents, and what follows from it."""

_MOST_NAMES: Final = 3
"""How many people are named who did something about several incidents, and how many rules."""

_DELAYS: Final = {
    Delay.SERVER: "no message could be delivered to you before",
    Delay.CAP: "you had reached the hourly limit of messages",
    Delay.WORKER: "no Linewatch worker was running, or it was busy",
}
_UNATTENDED: Final = {
    NotificationKind.REMINDER,
    NotificationKind.ESCALATION,
    NotificationKind.UNACKNOWLEDGED,
}


_DONE: Final = {
    NotificationKind.ACKNOWLEDGED,
    NotificationKind.RESOLVED,
    NotificationKind.CLOSED,
}


class Occasion(Struct, frozen=True):
    """Why a message comes now.

    `word` leads the subject, `kicker` is above the headline; both are empty if the change itself is
    the reason. `said` are sentences that come first, `steps` what to do about it; if it `is_done`,
    nobody else has anything to do. If it `is_critical`, the subject ends with that.
    """

    word: str = ""
    kicker: str = ""
    said: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    is_done: bool = False
    is_critical: bool = False

    def subject(self, text: str) -> str:
        """Return the subject of a message, given its part about the change."""
        whole = f"{self.word}: {text}" if self.word else text
        return f"{whole} · critical" if self.is_critical else whole


def occasion_of(
    notification: Notification,
    zone: tzinfo,
    *events: IncidentEvent,
    title: str = "",
    incidents: int = 1,
    critical: Sequence[str] = (),
    has_link: bool = False,
) -> Occasion:
    """Return why a notification comes now; times are in UTC and in `zone`.

    `events` are what people did, one for each incident whose event is still stored; `title` names
    the incident, without links; `incidents` is how many a notification without changes of its own
    is about; `critical` are the critical rules of its open incidents, if it is about several;
    `has_link`: it can be acknowledged by link.
    """
    if notification.incident is not None:
        critical = _critical_rule(notification, notification.incident)
    if notification.kind in {NotificationKind.CHANGE, NotificationKind.DIGEST}:
        return _with_severity(_of_change(notification, zone), critical)
    incident = notification.incident
    steps = _steps(incident, has_link=has_link)
    if incident is None:
        occasion = _of_several(notification, zone, events, incidents)
    else:
        occasion = _of_incident(notification, incident, zone, next(iter(events), None), title)
    is_unattended = notification.kind in _UNATTENDED
    return _with_severity(replace(occasion, steps=steps) if is_unattended else occasion, critical)


def _critical_rule(notification: Notification, incident: Incident) -> tuple[str, ...]:
    is_over = not notification.transition.after.is_open
    if incident.severity != Severity.CRITICAL or is_over:
        return ()
    is_of_network = notification.transition.subject.tx_hash is None
    if is_of_network and incident.resolved_at is not None:
        return ()  # it ended before anybody was notified
    return (incident.rule,)


def _with_severity(occasion: Occasion, critical: Sequence[str]) -> Occasion:
    """Say first that the trouble is critical, before everything else about a change."""
    if not critical or occasion.is_done:
        return occasion
    named = [unlinked(each, _LONGEST_NAME) for each in critical[:_MOST_NAMES]]
    if more := len(critical) - len(named):
        named.append(counted(more, "other"))
    by = f"Critical, by the {'rule' if len(critical) == 1 else 'rules'} {listed(named)}."
    first, rest = occasion.said[: bool(occasion.word)], occasion.said[bool(occasion.word) :]
    return replace(occasion, said=(*first, by, *rest), is_critical=True)


def _of_several(
    notification: Notification, zone: tzinfo, events: Sequence[IncidentEvent], incidents: int
) -> Occasion:
    """Return why several incidents themselves are reported, and who did it."""
    kind = notification.kind
    word, so, after = _SEVERAL[kind]
    who = _by_whom(notification, events, incidents)
    note = _note(events[0]) if len({each.note for each in events}) == 1 else ()
    each_is = "Each is listed with its last change."
    rest = (*note, *filter(None, (after,)), each_is, *_delays(notification, zone))
    said = (f"{so.format(f'{incidents:,}')}{who}.", *rest)
    led = word if who.startswith(":") else f"{word}{who}"
    return Occasion(led, word, said, is_done=kind in _DONE)


def _by_whom(notification: Notification, events: Sequence[IncidentEvent], incidents: int) -> str:
    """Say who did it to all, or who to how many: `` by Ada``, ``: 2 by Ada, 1 by Bob``.

    If it was handed over, say to whom.
    """
    is_handed = notification.kind is NotificationKind.HANDED_OVER
    by = "to" if is_handed else "by"
    people = Counter(each.owner if is_handed else each.actor for each in events)
    named = [
        (_called(notification.recipient, who) if is_handed else unlinked_name(who), many)
        for who, many in people.most_common(_MOST_NAMES)
    ]
    if named and named[0][1] == incidents:
        return f" {by} {named[0][0]}"
    said = [f"{many:,} {by} {who}" for who, many in named]
    others = len(events) - sum(many for _, many in named)
    said += [f"{others:,} {by} others"] if others else []
    return f": {', '.join(said)}" if said else ""


def _called(recipient: Recipient, owner: str) -> str:
    return "you" if is_called(recipient, owner) else unlinked_name(owner)


def _of_incident(
    notification: Notification,
    incident: Incident,
    zone: tzinfo,
    event: IncidentEvent | None,
    title: str,
) -> Occasion:
    """Return why an incident itself is reported, without the steps that follow."""
    kind = notification.kind
    delays = _delays(notification, zone)
    since = moment_in(incident.opened_at, zone)
    lasts = span(notification.created_at - incident.opened_at)
    began = f"It began on {since}."
    size = _size(incident, title)
    if kind is NotificationKind.SUMMARY:
        stands = _owner(incident) or (f"Nobody has acknowledged this for {lasts}.",)
        return Occasion("Summary", "Summary", (*stands, began, *size, *delays))
    if kind is NotificationKind.REMINDER:
        said = f"Reminder: nobody has acknowledged this for {lasts}."
        return Occasion("Reminder", "Reminder", (said, began, *size, *delays))
    if kind is NotificationKind.ESCALATION:
        said = f"Escalated to you: nobody has acknowledged this for {lasts}."
        return Occasion("Escalated to you", "Escalated", (said, began, *size, *delays))
    if kind is NotificationKind.HANDED_OVER:
        word, said, rest = _of_handing_over(notification.recipient, event)
    else:
        word, said, rest = _of_action(kind, event)
    said = f"{said}, {lasts} after it began on {since}."
    sentences = (said, *_note(event), *rest, *size, *delays)
    return Occasion(word, str(kind).capitalize(), sentences, is_done=kind in _DONE)


def _of_change(notification: Notification, zone: tzinfo) -> Occasion:
    """Say what held changes back, that their incident is resolved, and who acknowledged it."""
    incident = notification.incident
    held = notification.held_for.removeprefix(NOT_VERIFIED).removeprefix("; ")
    delays = _delays(notification, zone)
    kicker = ""
    if delays:
        of_work = "quiet hours" if held.startswith("quiet") else "maintenance"
        kicker = f"Summary after {of_work}" if held else "Summary"
    said = list(delays)
    if incident is not None:
        said += [*_over(notification, incident), *_owner(incident)]
    is_done = incident is not None and incident.was_cut_short
    return Occasion("", kicker if notification.is_grouped else "", tuple(said), is_done=is_done)


def _delays(notification: Notification, zone: tzinfo) -> tuple[str, ...]:
    """Say why a message comes later than its change."""
    said = []
    release_at = notification.release_at
    if notification.held_for and release_at is not None:
        held_for = unlinked(notification.held_for, _LONGEST_NOTE)
        said.append(f"Held until {moment_in(release_at, zone)}: {held_for}.")
    if release_at is not None and notification.dated - release_at > LATE_AFTER:
        why = "" if notification.delay is None else f": {_DELAYS[notification.delay]}"
        said.append(f"This message is {span(notification.dated - release_at)} late{why}.")
    return tuple(said)


def _over(notification: Notification, incident: Incident) -> tuple[str, ...]:
    """Say that a condition of a network ended, which never happens to incidents of transactions.

    What waited may report an incident that was ended meanwhile although its trouble lasts.
    """
    if incident.was_cut_short:
        return (f"{_RESOLVED_MEANWHILE} {_NOTHING_TO_DO}",)
    if notification.transition.after.is_open or incident.resolved_at is None:
        return ()
    return (f"Resolved after {span(incident.resolved_at - incident.opened_at)}.",)


def _owner(incident: Incident) -> tuple[str, ...]:
    if not incident.owner:
        return ()
    verb = "is" if incident.is_open else "was"
    return (f"It {verb} acknowledged by {unlinked_name(incident.owner)}.",)


def _of_action(
    kind: NotificationKind, event: IncidentEvent | None
) -> tuple[str, str, tuple[str, ...]]:
    """Return the beginning of the subject, who did what, and what follows from it."""
    actor = "Somebody" if event is None else unlinked_name(event.actor)
    match kind:
        case NotificationKind.ACKNOWLEDGED:
            rest = (f"Reminders have stopped. {_NOTHING_TO_DO}",)
            who = "" if event is None else f" by {actor}"
            return f"Acknowledged{who}", f"{actor} acknowledged this", rest
        case NotificationKind.UNACKNOWLEDGED:
            rest = ("It is unassigned now: somebody has to acknowledge it.",)
            return "Unacknowledged", f"{actor} unacknowledged this", rest
        case NotificationKind.CLOSED:
            rest = ("You will get no more messages about it.",)
            return "Closed", f"{actor} changed the rules, which closed this incident", rest
        case _:
            rest = (f"Later changes open a new incident. {_NOTHING_TO_DO}",)
            who = "" if event is None else f" by {actor}"
            return f"Resolved{who}", f"{actor} resolved this", rest


def _of_handing_over(
    recipient: Recipient, event: IncidentEvent | None
) -> tuple[str, str, tuple[str, ...]]:
    """Return the same for an incident with a new owner, who may be the recipient."""
    if event is None:
        owner, actor = "another person", "Somebody"
    else:
        owner = unlinked_name(event.owner)
        actor = unlinked_name(event.actor)
        if is_called(recipient, event.owner):
            rest = ("You own it now: nobody else will act.",)
            return "Handed over to you", f"{actor} handed this over to you", rest
    rest = ("Nobody else has to act.",)
    return f"Handed over to {owner}", f"{actor} handed this over to {owner}", rest


def _note(event: IncidentEvent | None) -> tuple[str, ...]:
    if event is None or not event.note:
        return ()
    return (f"Note: \u201c{unlinked(event.note, _LONGEST_NOTE)}\u201d.",)


def _size(incident: Incident, title: str) -> tuple[str, ...]:
    """Name an incident of several changes, the last of which a message shows."""
    if incident.transitions == 1:
        return ()
    return (f"Below is the last of {incident.transitions:,} changes of \u201c{title}\u201d.",)


def _steps(incident: Incident | None, *, has_link: bool) -> tuple[str, ...]:
    """Say how to acknowledge an incident, with a link or without."""
    if incident is None:
        return ("Acknowledge them on the page Alerts: everybody sees that you work on them.",)
    link = "with the link in this mail, " if has_link else ""
    command = f"`linewatch alerts acknowledge {incident.incident_id.hex[:8]}`"
    how = f"Acknowledge it {link}on the page Alerts or with {command}"
    return (f"{how}: everybody sees that you work on it, and reminders stop.",)
