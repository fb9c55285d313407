"""A message says first why it comes now, who owns it, since when, and what to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import pytest

from dashboard.alert.occasion import Occasion, occasion_of
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentEvent, IncidentEventKind, IncidentState
from dashboard.domain.alerts.notification import Notification, NotificationKind
from dashboard.domain.alerts.rule import Severity
from tests.builders import A_MOMENT, A_NETWORK, a_notification, a_transition, an_id, an_incident

HALF_AN_HOUR = timedelta(minutes=30)
FREE = an_incident(incident_id=an_id(0x3F9C2A10 << 96), opened_at=A_MOMENT - HALF_AN_HOUR)
HELD = replace(FREE, state=IncidentState.ACKNOWLEDGED, owner="Ada")
BEGAN = "30 min after it began on 2026-11-20 11:30:00 UTC."


def about(kind: NotificationKind, **changes: object) -> Notification:
    return a_notification(**({"kind": kind, "incident": FREE} | changes))


@pytest.mark.parametrize(
    ("kind", "subject", "first"),
    [
        (
            NotificationKind.REMINDER,
            "Reminder: X",
            "Reminder: nobody has acknowledged this for 30 min.",
        ),
        (
            NotificationKind.ESCALATION,
            "Escalated to you: X",
            "Escalated to you: nobody has acknowledged this for 30 min.",
        ),
    ],
)
def test_what_nobody_has_says_for_how_long_and_how_to_take_it(
    kind: NotificationKind, subject: str, first: str
) -> None:
    occasion = occasion_of(about(kind), UTC, has_link=True)

    assert occasion.subject("X") == subject
    assert occasion.said == (first, "It began on 2026-11-20 11:30:00 UTC.")
    assert "by the link in this mail, on the page Alerts or with" in occasion.steps[0]
    assert "`linewatch alerts acknowledge 3f9c2a10`" in occasion.steps[0]


@pytest.mark.parametrize(
    ("kind", "subject", "at"),
    [
        (NotificationKind.CHANGE, "X · critical", 0),
        (NotificationKind.ESCALATION, "Escalated to you: X · critical", 1),
        (NotificationKind.HANDED_OVER, "Handed over to another person: X · critical", 1),
    ],
)
def test_critical_is_said_in_subject_and_first_lines(
    kind: NotificationKind, subject: str, at: int
) -> None:
    critical = replace(FREE, severity="critical", rule="payouts\x1b")

    occasion = occasion_of(about(kind, incident=critical), UTC)

    assert occasion.subject("X") == subject
    assert occasion.said[at] == "Critical, by the rule payouts\\u001b."


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


def test_reminder_without_links_names_the_command_alone() -> None:
    occasion = occasion_of(about(NotificationKind.REMINDER), UTC)

    assert occasion.steps[0].startswith("Acknowledge it on the page Alerts or with `linewatch")


def test_reminder_of_many_changes_says_how_many() -> None:
    notification = about(NotificationKind.REMINDER, incident=replace(FREE, transitions=1_200))

    said = occasion_of(notification, UTC, title="1,200 rejections by HUB").said

    assert said[-1] == (
        "The incident: 1,200 rejections by HUB. Below is the last of its 1,200 changes."
    )


@pytest.mark.parametrize(
    ("kind", "event", "subject", "said"),
    [
        (
            NotificationKind.ACKNOWLEDGED,
            IncidentEvent(A_MOMENT, IncidentEventKind.ACKNOWLEDGED, actor="Ada", note="look\u202e"),
            "Acknowledged by Ada: X",
            (
                f"Ada acknowledged this, {BEGAN}",
                "Note: \u201clook\\u202e\u201d.",
                "Nobody is reminded of it any more. Nothing is left for you to do.",
            ),
        ),
        (
            NotificationKind.HANDED_OVER,
            IncidentEvent(A_MOMENT, IncidentEventKind.HANDED_OVER, actor="Ada", owner="Bob"),
            "Handed over to Bob: X",
            (
                f"Ada handed this over to Bob, {BEGAN}",
                "Nothing is left to do for anybody but Bob.",
            ),
        ),
        (
            NotificationKind.HANDED_OVER,
            IncidentEvent(
                A_MOMENT, IncidentEventKind.HANDED_OVER, actor="Ada", owner="ops@example.org"
            ),
            "Handed over to you: X",
            (
                f"Ada handed this over to you, {BEGAN}",
                "It is yours now: nobody else is to do anything about it.",
            ),
        ),
        (
            NotificationKind.UNACKNOWLEDGED,
            IncidentEvent(A_MOMENT, IncidentEventKind.UNACKNOWLEDGED, actor="Ada"),
            "Unacknowledged: X",
            (
                f"Ada unacknowledged this, {BEGAN}",
                "It is unassigned now: somebody has to acknowledge it.",
            ),
        ),
        (
            NotificationKind.RESOLVED,
            None,
            "Resolved: X",
            (
                f"Somebody resolved this, {BEGAN}",
                "What happens from now on is a new incident. Nothing is left for you to do.",
            ),
        ),
    ],
)
def test_what_somebody_did_names_them_and_their_note(
    kind: NotificationKind, event: IncidentEvent | None, subject: str, said: tuple[str, ...]
) -> None:
    occasion = occasion_of(about(kind), UTC, event)

    assert occasion.subject("X") == subject
    assert occasion.said == said
    assert bool(occasion.steps) is (kind is NotificationKind.UNACKNOWLEDGED)


def test_several_incidents_are_counted() -> None:
    occasion = occasion_of(about(NotificationKind.REMINDER, incident=None), UTC, incidents=3)

    assert occasion.said == (
        "Reminder: nobody has acknowledged these 3 incidents.",
        "Each is named by its last change.",
    )
    assert occasion.steps == (
        "Acknowledge them on the page Alerts: everybody then sees who works on them.",
    )


def test_change_at_once_is_its_own_reason() -> None:
    assert occasion_of(about(NotificationKind.CHANGE, incident=None), UTC) == Occasion()
    assert occasion_of(about(NotificationKind.CHANGE), UTC).subject("X") == "X"


@pytest.mark.parametrize(
    ("held_for", "kicker"),
    [
        ("quiet hours of the rule night", "Summary after quiet hours"),
        ("maintenance window 3 by Ada: upgrade", "Summary after maintenance"),
        ("", "Summary"),
    ],
)
def test_what_comes_late_says_what_held_it(held_for: str, kicker: str) -> None:
    notification = about(
        NotificationKind.CHANGE,
        held_for=held_for,
        member_count=9,
        release_at=A_MOMENT,
        closed_at=A_MOMENT + HALF_AN_HOUR,
    )

    occasion = occasion_of(notification, UTC)

    held = (f"Held until 2026-11-20 12:00:00 UTC: {held_for}.",) if held_for else ()
    assert (occasion.kicker, occasion.said) == (kicker, (*held, "This comes 30 min late."))


@pytest.mark.parametrize(
    ("held_by", "why"),
    [
        ("cap", ": you had reached the limit of messages an hour"),
        ("quiet-hours server", ": until now nothing could be delivered to you"),
        ("cap server", ": until now nothing could be delivered to you"),
        ("worker", ": no worker of Linewatch was running, or it was busy"),
        ("", ""),
    ],
)
def test_what_comes_late_says_which_of_the_reasons_it_was(held_by: str, why: str) -> None:
    notification = about(
        NotificationKind.CHANGE,
        held_by=held_by,
        release_at=A_MOMENT,
        closed_at=A_MOMENT + HALF_AN_HOUR,
    )

    assert occasion_of(notification, UTC).said == (f"This comes 30 min late{why}.",)


def test_change_of_what_somebody_has_names_them() -> None:
    assert occasion_of(about(NotificationKind.CHANGE, incident=HELD), UTC).said == (
        "It is acknowledged by Ada.",
    )


def test_end_says_how_long_it_lasted_and_who_had_it() -> None:
    over = replace(HELD, state=IncidentState.RESOLVED, resolved_at=A_MOMENT)
    calm = a_transition(before=State.BUSY, after=State.CALM)

    occasion = occasion_of(about(NotificationKind.CHANGE, incident=over, transition=calm), UTC)

    assert occasion.said == ("Resolved after 30 min.", "It was acknowledged by Ada.")


def test_end_of_one_among_several_is_no_end_of_the_incident() -> None:
    calm = a_transition(before=State.BUSY, after=State.CALM)

    assert occasion_of(about(NotificationKind.CHANGE, transition=calm), UTC).said == ()


def test_network_that_is_calm_before_anybody_was_notified_is_not_critical() -> None:
    busy = a_transition(subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=State.BUSY)
    over = replace(FREE, severity=Severity.CRITICAL, resolved_at=A_MOMENT)

    occasion = occasion_of(
        about(NotificationKind.CHANGE, incident=over, transition=busy), UTC, has_link=True
    )

    assert not occasion.is_critical
