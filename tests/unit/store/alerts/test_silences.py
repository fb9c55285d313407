"""Silences as they are stored: once for each request, ended once, listed while they last."""

from __future__ import annotations

from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, WeekSpan
from dashboard.store.alerts.silences import (
    add_silence,
    end_silence,
    finished_silences,
    unfinished_silences,
)
from dashboard.store.engine.engine import Store
from tests.builders import A_MOMENT, HOUR, an_id

ADA = Actor("ada\0 lovelace", A_MOMENT)
BOB = Actor("bob", A_MOMENT + HOUR / 2)


def make(store: Store, number: int, **changes: Any) -> Silence:  # noqa: ANN401 - any field of the request
    """Store the silence of the module HUB for an hour, under a number of its own."""
    fields: dict[str, Any] = {
        "request_id": an_id(number),
        "kind": SilenceKind.SILENCE,
        "matchers": (
            Matcher(MatchedProperty.MODULE, "HUB"),
            Matcher(MatchedProperty.LABEL, "\0 test", is_equal=False),
        ),
        "starts_at": A_MOMENT,
        "ends_at": A_MOMENT + HOUR,
        "reason": "known \0",
    }
    with store.write() as connection:
        made, is_new = add_silence(connection, SilenceRequest(**(fields | changes)), ADA)
    assert is_new
    return made


def test_silence_comes_back_as_it_was_asked_for(store: Store) -> None:
    made = make(store, 1)

    with store.read() as connection:
        assert unfinished_silences(connection, A_MOMENT) == [made]
    assert (made.author, made.created_at) == (ADA.name, ADA.at)
    assert made.request.matchers[1] == Matcher(MatchedProperty.LABEL, "\0 test", is_equal=False)
    assert made.request.reason == "known \0"


def test_weekly_hours_come_back_with_their_zone(store: Store) -> None:
    spans = (WeekSpan.parse("sun 02:00-04:00"), WeekSpan.parse("sat,sun 22:00-06:00"))
    weekly = WeeklyHours(ActiveHours(spans, "Europe/Zurich"), ZoneInfo("Europe/Zurich"))
    made = make(store, 1, weekly=weekly, ends_at=A_MOMENT + 90 * 24 * HOUR)

    with store.read() as connection:
        [stored] = unfinished_silences(connection, A_MOMENT + HOUR)

    assert stored == made
    assert stored.request.weekly == weekly


def test_repeated_request_finds_what_the_first_one_made(store: Store) -> None:
    made = make(store, 1)

    with store.write() as connection:
        again, is_new = add_silence(connection, made.request, BOB)

    assert (again, is_new) == (made, False)


def test_silence_is_ended_once_by_the_person_who_is_named(store: Store) -> None:
    made, over = make(store, 1), make(store, 2, ends_at=BOB.at)

    with store.write() as connection:
        window = end_silence(connection, SilenceKind.MAINTENANCE, made.silence_id, BOB)
        ended = end_silence(connection, SilenceKind.SILENCE, made.silence_id, BOB)
        again = end_silence(connection, SilenceKind.SILENCE, made.silence_id, BOB)
        unknown = end_silence(connection, SilenceKind.SILENCE, 99, BOB)
        late = end_silence(connection, SilenceKind.SILENCE, over.silence_id, BOB)

    assert ended is not None
    assert (ended.ended_by, ended.over_at) == ("bob", BOB.at)
    assert (window, again, unknown, late) == (None, None, None, None)


def test_those_to_come_are_listed_and_those_that_are_over_are_told_apart(store: Store) -> None:
    first, second = make(store, 1), make(store, 2, ends_at=A_MOMENT + HOUR / 4)
    later = make(store, 3, starts_at=A_MOMENT + 2 * HOUR, ends_at=A_MOMENT + 3 * HOUR)
    with store.write() as connection:
        ended = end_silence(connection, SilenceKind.SILENCE, first.silence_id, BOB)

    with store.read() as connection:
        unfinished = unfinished_silences(connection, BOB.at)
        at_its_end = unfinished_silences(connection, A_MOMENT + HOUR / 4)
        over_then = finished_silences(connection, A_MOMENT + HOUR / 4, 9)
        finished = finished_silences(connection, BOB.at, 9)
        latest = finished_silences(connection, BOB.at, 1)

    assert _ids(unfinished) == _ids(at_its_end) == [later.request.request_id]
    assert over_then == [second]
    assert finished == [ended, second]
    assert latest == [ended]


def _ids(silences: list[Silence]) -> list[UUID]:
    return [each.request.request_id for each in silences]
