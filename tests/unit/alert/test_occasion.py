"""A message says first why it comes now, who owns it, since when, and what to do."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from dashboard.alert.occasion import Occasion, occasion_of
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentEvent, IncidentEventKind, IncidentState
from dashboard.domain.alerts.notification import Notification, NotificationKind
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.people.recipients import NOT_VERIFIED, QUIET_HOURS
from tests.builders import A_MOMENT, A_NETWORK, a_notification, a_transition, an_id, an_incident
from tests.golden_texts import GoldenTexts, as_lines

KINDS, EVENTS = NotificationKind, IncidentEventKind
HALF_AN_HOUR = timedelta(minutes=30)
FREE = an_incident(incident_id=an_id(0x3F9C2A10 << 96), opened_at=A_MOMENT - HALF_AN_HOUR)
HELD = replace(FREE, state=IncidentState.ACKNOWLEDGED, owner="Ada")


def about(kind: NotificationKind, **changes: object) -> Notification:
    return a_notification(**({"kind": kind, "incident": FREE} | changes))


def late(held_for: str = "", held_by: str = "", members: int = 1) -> Occasion:
    """Return the occasion of a change that comes half an hour after it could."""
    notification = about(
        KINDS.CHANGE,
        held_for=held_for,
        held_by=held_by,
        member_count=members,
        release_at=A_MOMENT,
        closed_at=A_MOMENT + HALF_AN_HOUR,
    )
    return occasion_of(notification, UTC)


def done(kind: NotificationKind, event: IncidentEventKind, **said: Any) -> Occasion:  # noqa: ANN401 - any field
    by_ada = IncidentEvent(A_MOMENT, event, actor="Ada", **said)
    return occasion_of(about(kind), UTC, by_ada)


def by(*actors: str, note: str = "", owner: str = "") -> list[IncidentEvent]:
    """Return what people did, one after the other, to as many incidents."""
    return [
        IncidentEvent(A_MOMENT, EVENTS.ACKNOWLEDGED, actor=each, note=note, owner=owner)
        for each in actors
    ]


def several(kind: NotificationKind, *events: IncidentEvent) -> Occasion:
    return occasion_of(about(kind, incident=None), UTC, *events, incidents=3)


def test_occasions_of_incidents_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    many = about(KINDS.REMINDER, incident=replace(FREE, transitions=1_200))
    occasions = {
        "reminder": occasion_of(about(KINDS.REMINDER), UTC, has_link=True),
        "reminder without links": occasion_of(about(KINDS.REMINDER), UTC),
        "reminder of many changes": occasion_of(many, UTC, title="1,200 rejected, HUB over limit"),
        "reminder of three": several(KINDS.REMINDER),
        "summary of three": several(KINDS.SUMMARY),
        "summary of one": occasion_of(about(KINDS.SUMMARY), UTC),
        "three acknowledged by one": several(
            KINDS.ACKNOWLEDGED, *by("Ada", "Ada", "Ada", note="storm")
        ),
        "three acknowledged by two": several(KINDS.ACKNOWLEDGED, *by("Bob", "Ada", "Ada")),
        "three acknowledged, two of them nobody knows by whom": several(
            KINDS.ACKNOWLEDGED, *by("Ada")
        ),
        "three handed over to the reader": several(
            KINDS.HANDED_OVER, *by("Ada", "Bob", "Ada", owner="ops@example.org")
        ),
        "given back by many": occasion_of(
            about(KINDS.UNACKNOWLEDGED, incident=None), UTC, *by(*"aabcdef"), incidents=7
        ),
        "three resolved": several(KINDS.RESOLVED, *by("Ada", "Ada", "Ada")),
        "three closed": several(KINDS.CLOSED, *by("Ada", "Ada", "Ada")),
        "escalation": occasion_of(about(KINDS.ESCALATION), UTC, has_link=True),
        "acknowledged": done(KINDS.ACKNOWLEDGED, EVENTS.ACKNOWLEDGED, note="look\u202e"),
        "handed over to another": done(KINDS.HANDED_OVER, EVENTS.HANDED_OVER, owner="Bob"),
        "handed over to the reader": done(
            KINDS.HANDED_OVER, EVENTS.HANDED_OVER, owner="ops@example.org"
        ),
        "given back": done(KINDS.UNACKNOWLEDGED, EVENTS.UNACKNOWLEDGED),
        "resolved, nobody knows by whom": occasion_of(about(KINDS.RESOLVED), UTC),
    }

    golden.check("occasions_of_incidents", with_subjects(occasions))


def test_occasions_of_critical_incidents_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    critical = replace(FREE, severity="critical", rule="payouts\x1b")
    of_one = {
        f"critical {kind}": occasion_of(about(kind, incident=critical), UTC)
        for kind in (KINDS.CHANGE, KINDS.ESCALATION, KINDS.HANDED_OVER)
    }
    of_three = {
        f"critical {kind} of three": occasion_of(
            about(kind, incident=None), UTC, incidents=3, critical=rules
        )
        for kind, rules in (
            (KINDS.CHANGE, ("payouts", "storm\x1b")),
            (KINDS.REMINDER, ("payouts",)),
            (KINDS.ESCALATION, "abcde"),
            (KINDS.ACKNOWLEDGED, ("payouts",)),
        )
    }

    golden.check("occasions_of_critical_incidents", with_subjects(of_one | of_three))


def test_occasions_of_changes_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    calm = a_transition(before=State.BUSY, after=State.CALM)
    over = replace(HELD, state=IncidentState.RESOLVED, resolved_at=A_MOMENT)
    cut_short = replace(over, troubled=1)
    occasions = {
        "at once": occasion_of(about(KINDS.CHANGE), UTC),
        "at once, without an incident": occasion_of(about(KINDS.CHANGE, incident=None), UTC),
        "of what somebody has": occasion_of(about(KINDS.CHANGE, incident=HELD), UTC),
        "the end": occasion_of(about(KINDS.CHANGE, incident=over, transition=calm), UTC),
        "resolved meanwhile": occasion_of(about(KINDS.CHANGE, incident=cut_short), UTC),
        "the end of one among several": occasion_of(about(KINDS.CHANGE, transition=calm), UTC),
        "several, after quiet hours": late("quiet hours of the rule night", members=9),
        "several, after maintenance": late("maintenance window 3 by Ada: upgrade", members=9),
        "several, late": late(members=9),
        **{
            f"late by {held_by or 'nobody knows what'}": late(held_by=held_by)
            for held_by in ("cap", "quiet-hours server", "cap server", "worker", "")
        },
    }

    golden.check("occasions_of_changes", with_subjects(occasions))


@pytest.mark.parametrize(
    ("held_for", "kicker"),
    [
        (NOT_VERIFIED, "Summary"),
        (f"{NOT_VERIFIED}; {QUIET_HOURS}", "Summary after quiet hours"),
        (f"{NOT_VERIFIED}; maintenance window 3 by Ada: upgrade", "Summary after maintenance"),
    ],
)
def test_summary_after_a_verification_is_only_called_after_what_held_it(
    held_for: str, kicker: str
) -> None:
    assert late(held_for, members=9).kicker == kicker


def with_subjects(occasions: dict[str, Occasion]) -> dict[str, str]:
    return {
        title: f"{each.subject('X')}\n{as_lines(each)}".rstrip()
        for title, each in occasions.items()
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": NotificationKind.ACKNOWLEDGED},
        {"kind": NotificationKind.CHANGE, "transition": a_transition(after=State.CALM)},
        {"kind": NotificationKind.CHANGE, "incident": FREE},
    ],
)
def test_what_needs_nobody_any_more_is_not_called_critical(changes: dict[str, Any]) -> None:
    critical = replace(FREE, severity="critical")

    occasion = occasion_of(a_notification(**({"incident": critical} | changes)), UTC)

    assert not occasion.is_critical
    assert not [each for each in occasion.said if "Critical" in each]


def test_network_that_is_calm_before_anybody_was_notified_is_not_critical() -> None:
    busy = a_transition(subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=State.BUSY)
    over = replace(FREE, severity=Severity.CRITICAL, resolved_at=A_MOMENT)

    occasion = occasion_of(
        about(NotificationKind.CHANGE, incident=over, transition=busy), UTC, has_link=True
    )

    assert not occasion.is_critical
