"""The story of an incident in words, for the page and for commands, and the list of incidents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from dashboard.application.listing import Column, Json, Listing, instant
from dashboard.application.text import moment_near
from dashboard.domain.alerts.incident import (
    LONGEST_NOTE,
    Incident,
    IncidentEvent,
    IncidentEventKind,
    IncidentResponse,
    IncidentState,
)
from dashboard.domain.alerts.inhibition import inhibited_in_words
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import NotificationKind, NotificationState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.formatting import counted, moment, span
from dashboard.domain.markup import visible
from dashboard.domain.people.access import LONGEST_NAME
from dashboard.store.alerts.incident_list import (
    IncidentNotification,
    IncidentStory,
    WithheldChanges,
)

_LONGEST_ADDRESS: Final = 120
_LONGEST_REASON: Final = 400
_SHORT_ID: Final = 8


_SEVERITIES: Final = {
    Severity.INFO.value: ("mute", "i", "Info"),
    Severity.WARNING.value: ("busy", "!", "Warning"),
    Severity.CRITICAL.value: ("bad", "▲", "Critical"),
}


def severity_style(severity: str) -> tuple[str, str, str]:
    """Return how a severity is shown: the kind of its badge, its sign and its word."""
    return _SEVERITIES.get(severity, ("mute", "·", severity))


class TimelineEntry(Struct, frozen=True):
    """What happened at a moment, and who was notified; both hold foreign text, made visible."""

    at: datetime
    what: str
    whom: tuple[str, ...] = ()


_SENT: Final = {
    NotificationState.SENT: "notified",
    NotificationState.PENDING: "pending",
    NotificationState.DEAD: "not delivered",
    NotificationState.HELD: "held",
}
_TOGETHER: Final = timedelta(minutes=1)


def timeline_of(
    events: Sequence[IncidentEvent], sent: Sequence[IncidentNotification]
) -> list[TimelineEntry]:
    """Merge events and notifications into one list, the latest first.

    Notifications to several recipients for the same reason within a minute are one entry.
    """
    entries = [TimelineEntry(each.at, event_words(each)) for each in events]
    together: list[tuple[IncidentNotification, list[str]]] = []
    for each in sorted(sent, key=lambda each: (each.kind, each.state, each.at), reverse=True):
        address = visible(each.recipient.address, _LONGEST_ADDRESS)
        last = together[-1][0] if together else None
        if last is None or not _is_beside(last, each):
            together.append((each, [address]))
        elif address not in together[-1][1]:
            together[-1][1].append(address)
    entries += [
        TimelineEntry(first.at, _sent_words(first), tuple(sorted(whom))) for first, whom in together
    ]
    entries.reverse()  # at the same moment, the last event comes first
    return sorted(entries, key=lambda each: each.at, reverse=True)


def _is_beside(last: IncidentNotification, each: IncidentNotification) -> bool:
    is_alike = (last.kind, last.state) == (each.kind, each.state)
    return is_alike and last.at - each.at < _TOGETHER


def _sent_words(each: IncidentNotification) -> str:
    """Say what became of a notification, and unless it reports a change, why it was made."""
    why = "" if each.kind is NotificationKind.CHANGE else f" ({each.kind})"
    return f"{_SENT[each.state]}{why}"


def event_words(event: IncidentEvent) -> str:
    """Say what happened, who did it, and the note."""
    by = f" by {visible(event.actor, LONGEST_NAME)}" if event.actor else ""
    to = f" to {visible(event.owner, LONGEST_NAME)}" if event.owner else ""
    note = f": {visible(event.note, LONGEST_NOTE)}" if event.note else ""
    # the store keeps the older word
    what = "evaluated again" if event.kind is IncidentEventKind.JUDGED_AGAIN else event.kind
    return f"{what}{_by_how_many(event)}{to}{by}{note}"


def _by_how_many(event: IncidentEvent) -> str:
    many = counted(event.transitions, "change")
    words = {IncidentEventKind.OPENED: f" with {many}", IncidentEventKind.GREW: f" by {many}"}
    return words.get(event.kind, "")


def state_remarks(story: IncidentStory) -> Iterator[str]:
    """Yield remarks: pending until when, why there is no data, and which rules this inhibits.

    Foreign text is made visible.
    """
    incident = story.incident
    if incident.state is IncidentState.PENDING and incident.next_at is not None:
        until = moment(incident.next_at)
        yield f"Pending: nobody is notified before {until}, and not at all if it ends before."
    if story.unknown is not None:
        yield f"No data: {story.unknown}, so nobody knows whether this lasts."
    if story.inhibited:
        yield inhibited_in_words(story.inhibited)


def notified_words(story: IncidentStory) -> list[str]:
    """Say for each recipient what was sent, what was not, and why."""
    words = []
    for each in story.notified:
        counts = ", ".join(f"{many:,} {state}" for state, many in each.states.items())
        last = "" if each.last_sent is None else f", the last at {moment(each.last_sent)}"
        words.append(f"{visible(each.recipient.address, _LONGEST_ADDRESS)}: {counts}{last}")
    return words + [withheld_words(each) for each in story.withheld]


def withheld_words(withheld: WithheldChanges) -> str:
    """Say how many changes a recipient was not notified of, and why."""
    many = counted(withheld.changes, "change")
    address = visible(withheld.recipient.address, _LONGEST_ADDRESS)
    return f"{address}: {many} not notified, {visible(withheld.reason, _LONGEST_REASON)}"


def withheld_form(withheld: WithheldChanges) -> dict[str, Json]:
    return {
        "channel": withheld.recipient.channel,
        "address": withheld.recipient.address,
        "changes": withheld.changes,
        "reason": withheld.reason,
    }


def reach_words(story: IncidentStory) -> str:
    """Say in short how many people were notified, and what is not delivered."""
    if not story.notified:
        return "notified by another rule" if story.is_told_by_others else "nobody was notified"
    many = len(story.notified)
    sent = sum(NotificationState.SENT in each.states for each in story.notified)
    reached = f"{'all ' if sent == many > 1 else ''}{sent}"
    people = f"{reached} notified" if sent == many else f"{reached} of {many} notified"
    lacking = [
        f"{count:,} {state}"
        for state in (NotificationState.PENDING, NotificationState.DEAD, NotificationState.HELD)
        if (count := sum(each.states.get(state, 0) for each in story.notified))
    ]
    return ", ".join([people, *lacking])


def upcoming_words(story: IncidentStory, now: datetime) -> str:
    """Say when people are next notified of an open incident; empty if they are not."""
    if story.silence is not None:
        return f"silenced until {moment_near(story.silence.over_at, now)}"
    if story.state is IncidentState.PENDING and story.incident.next_at is not None:
        return f"fires in {span(max(timedelta(), story.incident.next_at - now))} if it lasts"
    if story.upcoming is None or story.state is not IncidentState.FIRING:
        return ""
    at, kind, is_capped = story.upcoming
    word = "escalates" if kind is IncidentEventKind.ESCALATED else "reminder"
    when = f"in {span(at - now)}" if at > now else "now"
    return f"{word} {when}{', after the hourly cap' if is_capped else ''}"


def owner_words(incident: Incident) -> str:
    if not incident.owner:
        return "unassigned"
    return f"acknowledged by {visible(incident.owner, LONGEST_NAME)}"


def size_words(incident: Incident) -> str:
    """Say how many changes an incident has; empty for one, or if its title counts them."""
    is_counted = not KINDS[RuleKind(incident.kind)].is_lasting
    return "" if is_counted or incident.transitions == 1 else f"{incident.transitions:,} changes"


def incident_form(incident: Incident, title: str) -> dict[str, Json]:
    """Format an incident for programs, without its story."""
    is_pending = incident.state is IncidentState.PENDING
    return {
        "incidentId": str(incident.incident_id),
        "what": title,
        "rule": incident.rule,
        "severity": incident.severity,
        "group": [{"name": name, "value": value} for name, value in incident.group],
        "state": str(incident.state),
        "openedAt": instant(incident.opened_at),
        "firesAt": instant(incident.next_at) if is_pending else None,
        "changedAt": instant(incident.changed_at),
        "resolvedAt": instant(incident.resolved_at),
        "changes": incident.transitions,
        "owner": incident.owner or None,
    }


def response_form(
    response: IncidentResponse, title_of: Callable[[Incident], str]
) -> dict[str, Json]:
    """Format for programs an incident after a person's act, and the others that changed with it."""
    return {
        **incident_form(response.incident, title_of(response.incident)),
        "isChanged": response.event is not None,
        "others": [incident_form(each, title_of(each)) for each in response.others],
    }


def incident_listing(title_of: Callable[[Incident], str]) -> Listing[IncidentStory]:
    """Return the columns of incidents; programs get the whole story."""
    return Listing(
        "incidents",
        (
            Column("id", lambda each: str(each.incident.incident_id)[:_SHORT_ID]),
            Column("state", lambda each: str(each.state)),
            Column("since", lambda each: moment(each.incident.opened_at)),
            Column("changes", lambda each: each.incident.transitions),
            Column("severity", lambda each: each.incident.severity),
            Column("owner", lambda each: each.incident.owner),
            Column("what", lambda each: title_of(each.incident)),
        ),
        "No incident is open.",
        lambda each: incident_form(each.incident, title_of(each.incident)) | _story_form(each),
    )


def _story_form(story: IncidentStory) -> dict[str, Json]:
    return {
        "state": str(story.state),
        "noDataSince": None if story.unknown is None else instant(story.unknown.since),
        "remarks": list(state_remarks(story)),
        "silence": None if story.silence is None else story.silence.silence_id,
        "story": [{"at": instant(each.at), "what": event_words(each)} for each in story.events],
        "notified": list[Json](notified_words(story)),
    }
