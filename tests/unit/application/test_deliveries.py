"""A notification says where it stands and what it tells, on the page as in commands."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from dashboard.application.deliveries import (
    NotificationHistory,
    further_words,
    progress_words,
    reported_states,
    reported_words,
)
from dashboard.application.text import moment_near
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.hourly_cap import Gone, HourlyCap, RecipientTraffic
from dashboard.domain.alerts.notification import NotificationKind, NotificationState
from tests.builders import A_MOMENT, a_notification, a_transition

SOON, LATER = A_MOMENT + timedelta(seconds=30), A_MOMENT + timedelta(days=1)
CAP = HourlyCap(largest_hourly=2)


def progress(
    now: datetime = A_MOMENT,
    traffic: RecipientTraffic | None = None,
    expected_at: datetime | None = None,
    **changes: Any,  # noqa: ANN401 - any field
) -> str:
    return progress_words(a_notification(**changes), now, CAP, traffic, expected_at)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"release_at": SOON}, f"groups changes until {moment_near(SOON, A_MOMENT)}"),
        (
            {"release_at": LATER, "held_for": "quiet hours of the rule night\x1b"},
            f"held until {moment_near(LATER, A_MOMENT)} (quiet hours of the rule night\\u001b)",
        ),
        ({"release_at": A_MOMENT}, "not tried yet"),
        ({"release_at": SOON, "closed_at": A_MOMENT}, "not tried yet"),
        ({"attempts": 1, "closed_at": A_MOMENT}, "1 attempt"),
        (
            {"attempts": 2, "next_attempt_at": SOON},
            f"2 attempts, next not before {moment_near(SOON, A_MOMENT)}",
        ),
        (
            {"state": NotificationState.SENT, "sent_at": SOON},
            moment_near(SOON, A_MOMENT),
        ),
        ({"state": NotificationState.SENT}, ""),
        ({"state": NotificationState.DEAD, "attempts": 1}, "after 1 attempt"),
        ({"state": NotificationState.HELD, "release_at": SOON}, "since a restore"),
    ],
)
def test_notification_says_what_it_waits_for(changes: dict[str, Any], words: str) -> None:
    assert progress(**changes) == words


def test_notification_whose_time_has_come_says_what_keeps_it() -> None:
    busy = RecipientTraffic([Gone(A_MOMENT), Gone(A_MOMENT)])
    stuck = RecipientTraffic([Gone(A_MOMENT)], waiting=1, latest=A_MOMENT)

    in_an_hour = A_MOMENT + timedelta(hours=1)
    assert progress(SOON, busy, in_an_hour, release_at=A_MOMENT) == (
        "waits for its turn until 13:00:00 UTC (at most 2 an hour, spread over it)"
    )
    assert progress(SOON, stuck, release_at=A_MOMENT) == "waits until earlier ones are delivered"
    assert progress(SOON, RecipientTraffic(), release_at=A_MOMENT) == "not tried yet"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "rejected"),
        ({"transition": a_transition(before=State.REJECTED)}, "record changed"),
        ({"kind": NotificationKind.ACKNOWLEDGED}, "acknowledged"),
        ({"kind": NotificationKind.REMINDER}, "reminder"),
    ],
)
def test_notification_says_what_it_tells(changes: dict[str, Any], words: str) -> None:
    assert reported_words(a_notification(**changes)) == words


@pytest.mark.parametrize(
    ("many", "kind", "states", "words", "reported"),
    [
        (0, NotificationKind.ACKNOWLEDGED, (), "", []),
        (1, NotificationKind.CHANGE, (), "", ["rejected"]),
        (2, NotificationKind.CHANGE, ("rejected",), "and 1 more", ["rejected"]),
        (
            *(4, NotificationKind.CHANGE, ("rejected", "calm")),
            *("and 3 more (rejected, calm)", ["rejected", "calm"]),
        ),
    ],
)
def test_notification_counts_its_further_changes_and_names_the_states_of_all(
    many: int,
    kind: NotificationKind,
    states: tuple[str, ...],
    words: str,
    reported: list[str],
) -> None:
    notification = a_notification(member_count=many, kind=kind)
    history = NotificationHistory(notification, (), states=states)

    assert further_words(history) == words
    assert reported_states(history) == reported
