"""What people do about an incident: each changes it once, and the story says who did it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.incident import (
    Incident,
    IncidentEventKind,
    IncidentState,
    acknowledge,
    close_unreported,
    declare_resolved,
    hand_over,
    unacknowledge,
)
from dashboard.domain.people.access import Actor
from dashboard.errors import InputError
from tests.builders import A_MOMENT, an_id, seconds

ADA = Actor("ada", A_MOMENT + seconds(60))
BOB = Actor("bob", A_MOMENT + seconds(90))
FIRING = Incident(
    incident_id=an_id(1),
    rule="rejections",
    kind="rejected",
    severity="warning",
    group=(("network", "1"), ("module", "HUB")),
    state=IncidentState.FIRING,
    opened_at=A_MOMENT,
    changed_at=A_MOMENT,
    next_at=A_MOMENT + seconds(900),
)


def test_first_who_acknowledges_has_it_in_hand() -> None:
    response = acknowledge(FIRING, ADA, "looking")

    assert response.incident == replace(FIRING, state=IncidentState.ACKNOWLEDGED, owner="ada")
    assert response.event is not None
    assert (response.event.kind, response.event.actor, response.event.note) == (
        IncidentEventKind.ACKNOWLEDGED,
        "ada",
        "looking",
    )


@pytest.mark.parametrize("by", [ADA, BOB])
def test_acknowledged_again_nothing_changes(by: Actor) -> None:
    held = acknowledge(FIRING, ADA).incident

    again = acknowledge(held, by)

    assert (again.incident, again.event) == (held, None)


def test_given_back_it_fires_again_and_nobody_has_it() -> None:
    held = acknowledge(FIRING, ADA).incident

    response = unacknowledge(held, BOB, "no time")

    assert response.incident == FIRING
    assert response.event is not None
    assert response.event.kind is IncidentEventKind.UNACKNOWLEDGED
    assert unacknowledge(FIRING, BOB).event is None


@pytest.mark.parametrize(
    ("notified_at", "state"),
    [(None, IncidentState.SILENCED), (A_MOMENT, IncidentState.FIRING)],
)
def test_given_back_what_lasts_is_silenced_until_somebody_hears_of_it(
    notified_at: datetime | None, state: IncidentState
) -> None:
    lasting = replace(FIRING, troubled=1, notified_at=notified_at)

    response = unacknowledge(acknowledge(lasting, ADA).incident, BOB)

    assert response.incident == replace(lasting, state=state)


@pytest.mark.parametrize("incident", [FIRING, acknowledge(FIRING, ADA).incident])
def test_handed_over_another_has_it_and_the_story_says_by_whom(incident: Incident) -> None:
    response = hand_over(incident, " carol ", BOB, "your shift")

    assert response.incident.state is IncidentState.ACKNOWLEDGED
    assert response.incident.owner == "carol"
    assert response.event is not None
    assert (response.event.actor, response.event.owner) == ("bob", "carol")
    assert hand_over(response.incident, "carol", BOB).event is None


def test_declared_over_it_ends_once() -> None:
    over = declare_resolved(FIRING, ADA, "fixed")

    assert over.incident.state is IncidentState.RESOLVED
    assert (over.incident.resolved_at, over.incident.next_at) == (ADA.at, None)
    assert over.event is not None
    assert over.event.actor == "ada"
    assert declare_resolved(over.incident, BOB).event is None


def test_resolved_incident_takes_no_response() -> None:
    over = declare_resolved(FIRING, ADA).incident

    with pytest.raises(InputError, match="resolved on 2026-11-20 12:01:00 UTC"):
        acknowledge(over, BOB)


def test_note_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match="301 characters: write at most 300"):
        declare_resolved(FIRING, ADA, "x" * 301)
    longest = declare_resolved(FIRING, ADA, "x" * 300).event
    assert longest is not None
    assert longest.note == "x" * 300


@pytest.mark.parametrize("respond", [acknowledge, lambda each, by: hand_over(each, "bob", by)])
def test_nobody_takes_in_hand_what_is_pending(
    respond: Callable[[Incident, Actor], object],
) -> None:
    pending = replace(FIRING, state=IncidentState.PENDING)

    with pytest.raises(InputError, match="nobody is notified before"):
        respond(pending, ADA)
    assert not declare_resolved(pending, ADA).incident.is_open


def test_incident_that_is_no_longer_reported_is_over_and_due_for_a_note() -> None:
    response = close_unreported(FIRING, ADA, "its rule was removed")

    assert (response.incident.state, response.incident.next_at) == (IncidentState.RESOLVED, ADA.at)
    assert response.event is not None
    assert (response.event.actor, response.event.note) == ("ada", "its rule was removed")


@pytest.mark.parametrize("troubled", [0, 1])
def test_incident_is_cut_short_if_a_person_resolves_it_while_its_trouble_lasts(
    troubled: int,
) -> None:
    lasting = replace(FIRING, troubled=troubled)

    over = declare_resolved(lasting, ADA).incident

    assert (lasting.was_cut_short, over.was_cut_short) == (False, troubled > 0)
