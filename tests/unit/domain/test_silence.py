"""Silences and maintenance windows: when they last, what they cover, what cannot be meant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import (
    Silence,
    SilenceKind,
    SilenceRequest,
    SilenceState,
    check_request,
    fitting,
    held_by,
    likely_silences,
    next_morning,
    silenced_all_by,
    silenced_by,
)
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, WeekSpan
from dashboard.errors import InputError
from tests.builders import A_MOMENT, HOUR, an_id, utc

HUB = Matcher(MatchedProperty.MODULE, "HUB")
NO_HUB = Matcher(MatchedProperty.MODULE, "HUB", is_equal=False)
OF_HUB = {MatchedProperty.MODULE: "HUB"}
OF_ADD = {MatchedProperty.MODULE: "ADD"}


def a_request(**changes: Any) -> SilenceRequest:  # noqa: ANN401 - any field
    """Return the request to silence the module HUB for an hour."""
    fields: dict[str, Any] = {
        "request_id": an_id(1),
        "kind": SilenceKind.SILENCE,
        "matchers": (HUB,),
        "starts_at": A_MOMENT,
        "ends_at": A_MOMENT + HOUR,
        "reason": "known",
    }
    return SilenceRequest(**(fields | changes))


def a_silence(number: int = 1, ended_at: datetime | None = None, **changes: Any) -> Silence:  # noqa: ANN401 - any field of the request
    """Return the silence that was made of `a_request()`."""
    return Silence(number, a_request(**changes), "ada", A_MOMENT, ended_at)


def a_window(number: int, start: int, end: int) -> Silence:
    """Return a maintenance window from one hour to another."""
    return a_silence(
        number,
        kind=SilenceKind.MAINTENANCE,
        starts_at=A_MOMENT + start * HOUR,
        ends_at=A_MOMENT + end * HOUR,
    )


@pytest.mark.parametrize(
    ("hours", "state"),
    [
        (-1, SilenceState.PLANNED),
        (0, SilenceState.ACTIVE),
        (0.999, SilenceState.ACTIVE),
        (1, SilenceState.EXPIRED),
    ],
)
def test_silence_lasts_from_its_start_until_before_its_end(
    hours: float, state: SilenceState
) -> None:
    silence, at = a_silence(), A_MOMENT + hours * HOUR

    assert silence.state(at) is state
    assert (silence.occurrence(at) is None) is (state is SilenceState.EXPIRED)


def test_silence_that_a_person_ended_is_over_since_then() -> None:
    ended = a_silence(ended_at=A_MOMENT + HOUR / 2)

    assert ended.state(A_MOMENT + HOUR / 2) is SilenceState.EXPIRED
    assert ended.over_at == A_MOMENT + HOUR / 2
    assert not ended.never_began


def test_silence_that_was_ended_before_its_start_never_lasts() -> None:
    cancelled = a_silence(ended_at=A_MOMENT - HOUR)

    assert cancelled.state(A_MOMENT) is SilenceState.EXPIRED
    assert cancelled.never_began
    assert not a_silence().never_began


def test_change_is_silenced_while_a_silence_that_fits_lasts() -> None:
    silence = a_silence()

    assert silenced_by([silence], OF_HUB, A_MOMENT) is silence
    assert silenced_by([silence], OF_ADD, A_MOMENT) is None
    assert silenced_by([silence], OF_HUB, A_MOMENT + HOUR) is None
    assert silenced_by([a_window(1, 0, 1)], OF_HUB, A_MOMENT) is None


def test_of_two_silences_the_one_that_lasts_longer_is_named() -> None:
    longer = a_silence(2, ends_at=A_MOMENT + 2 * HOUR)

    assert silenced_by([a_silence(), longer], OF_HUB, A_MOMENT) is longer


def test_changes_are_silenced_together_where_each_is_until_the_first_end() -> None:
    of_add = Matcher(MatchedProperty.MODULE, "ADD")
    silences = [a_silence(), a_silence(2, ends_at=A_MOMENT + 2 * HOUR, matchers=(of_add,))]

    assert silenced_all_by(silences, [OF_ADD, OF_HUB], A_MOMENT) is silences[0]
    assert silenced_all_by(silences, [OF_HUB, OF_ADD], A_MOMENT) is silences[0]
    assert silenced_all_by(silences[:1], [OF_HUB, OF_ADD], A_MOMENT) is None


def test_silence_is_likely_unless_what_changes_share_rules_it_out() -> None:
    tagged = Matcher(MatchedProperty.TAG, "vip")
    both, tag_alone = a_silence(1, matchers=(HUB, tagged)), a_silence(2, matchers=(tagged,))
    planned = a_silence(3, starts_at=A_MOMENT + HOUR / 2)
    silences = [both, tag_alone, planned, a_window(4, 0, 1)]

    assert likely_silences(silences, OF_HUB, A_MOMENT) == [both, tag_alone]
    assert likely_silences(silences, OF_ADD, A_MOMENT) == [tag_alone]


def test_change_is_held_until_the_end_of_windows_that_follow_each_other() -> None:
    windows = [a_window(3, 5, 6), a_window(1, 0, 2), a_window(2, 2, 4), a_window(4, 1, 3)]

    assert held_by(windows, A_MOMENT) == [windows[1], windows[2]]
    assert held_by(windows[:1], A_MOMENT) == []


def test_windows_of_a_change_are_those_that_fit_it_also_before_they_begin() -> None:
    windows = (a_window(3, 5, 6), a_window(1, 0, 2))

    assert fitting([*windows, a_silence()], SilenceKind.MAINTENANCE, OF_HUB) == windows
    assert fitting(windows, SilenceKind.MAINTENANCE, OF_ADD) == ()


def weekly(span: str, *, kind: SilenceKind = SilenceKind.MAINTENANCE) -> Silence:
    """Return a window of these hours of every week in Zurich, from 2026-03-01 until 2027-03-01."""
    hours = ActiveHours((WeekSpan.parse(span),), "Europe/Zurich")
    starts_at = datetime(2026, 3, 1, tzinfo=UTC)
    return a_silence(
        kind=kind,
        starts_at=starts_at,
        ends_at=starts_at + timedelta(days=365),
        weekly=WeeklyHours(hours, ZoneInfo("Europe/Zurich")),
    )


@pytest.mark.parametrize(
    ("at", "state", "starts", "ends"),
    [
        ("2026-02-01T00:00", SilenceState.PLANNED, "2026-03-01T01:00", "2026-03-01T03:00"),
        ("2026-11-21T12:00", SilenceState.PLANNED, "2026-11-22T01:00", "2026-11-22T03:00"),
        ("2026-11-22T01:00", SilenceState.ACTIVE, "2026-11-22T01:00", "2026-11-22T03:00"),
        ("2026-11-22T03:00", SilenceState.PLANNED, "2026-11-29T01:00", "2026-11-29T03:00"),
        # The clocks go forward: one hour is left of two.
        ("2026-03-28T12:00", SilenceState.PLANNED, "2026-03-29T01:00", "2026-03-29T02:00"),
        # The clocks go back: two hours take three.
        ("2026-10-24T12:00", SilenceState.PLANNED, "2026-10-25T00:00", "2026-10-25T03:00"),
    ],
)
def test_weekly_window_lasts_in_its_hours_as_clocks_show_them(
    at: str, state: SilenceState, starts: str, ends: str
) -> None:
    window = weekly("sun 02:00-04:00")

    found = window.occurrence(utc(at))

    assert window.state(utc(at)) is state
    assert found is not None
    assert (found.request.starts_at, found.over_at) == (utc(starts), utc(ends))


def test_weekly_window_ends_for_good_whatever_its_hours() -> None:
    window, always = weekly("sun 22:00-06:00"), weekly("mon-sun 00:00-24:00")
    last, end = always.occurrence(utc("2026-11-22T01:00")), utc("2027-03-01T00:00")

    assert last is not None
    assert last.over_at == always.over_at == end
    assert window.state(end) is SilenceState.EXPIRED
    assert window.occurrence(end) is None
    assert replace(window, ended_at=utc("2026-11-20T12:00")).occurrence(A_MOMENT) is None
    assert weekly("tue 10:00-12:00").occurrence(utc("2027-02-25T00:00")) is None


def test_change_in_weekly_hours_is_held_or_silenced_until_they_end() -> None:
    window, at = weekly("sun 02:00-04:00"), utc("2026-11-22T02:00")
    silence = weekly("sun 02:00-04:00", kind=SilenceKind.SILENCE)

    [held], silent = held_by([window], at), silenced_by([silence], OF_HUB, at)

    assert silent is not None
    assert held.over_at == silent.over_at == utc("2026-11-22T03:00")
    assert held_by([window], utc("2026-11-22T03:00")) == []
    assert silenced_by([silence], OF_HUB, utc("2026-11-21T02:00")) is None


def test_hours_that_do_not_come_before_the_end_are_refused() -> None:
    window = weekly("sun 02:00-04:00")
    request = replace(window.request, starts_at=A_MOMENT, ends_at=A_MOMENT + HOUR)

    until_they_begin = replace(request, ends_at=utc("2026-11-22T01:00"))

    for each in (request, until_they_begin):
        with pytest.raises(InputError, match="sun 02:00-04:00 Europe/Zurich do not fall before"):
            check_request(each, A_MOMENT)

    check_request(replace(request, ends_at=utc("2026-11-22T01:01")), A_MOMENT)
    check_request(window.request, A_MOMENT)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ends_at": A_MOMENT}, "not after its start at 2026-11-20 12:00:00 UTC"),
        (
            {"starts_at": A_MOMENT - 2 * HOUR, "ends_at": A_MOMENT - HOUR},
            "would have ended on 2026-11-20 11:00:00 UTC",
        ),
        (
            {"starts_at": A_MOMENT - HOUR, "ends_at": A_MOMENT},
            "would have ended on 2026-11-20 12:00:00 UTC",
        ),
        ({"ends_at": A_MOMENT + timedelta(days=367)}, "longer than 366 days"),
        ({"reason": "  "}, "has no reason"),
        ({"reason": "x" * 301}, "has 301 characters: write at most 300"),
        ({"matchers": (HUB,) * 21}, "21 matchers are too many"),
        ({"matchers": (HUB, NO_HUB)}, "module cannot be HUB and not be HUB"),
        ({"matchers": ()}, "has no matcher and would cover everything: name what is meant"),
        ({"matchers": (NO_HUB,)}, "no matcher but module!=HUB and would cover everything else"),
    ],
)
def test_what_nobody_can_have_meant_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        check_request(a_request(**changes), A_MOMENT)

    assert said in str(refused.value)


def test_silence_is_as_long_and_as_wide_as_can_be_meant() -> None:
    longest = a_request(ends_at=A_MOMENT + timedelta(days=366), reason="x" * 300)

    check_request(replace(longest, matchers=(HUB,) * 20), A_MOMENT)


@pytest.mark.parametrize("matchers", [(), (NO_HUB,)])
def test_everything_is_silenced_where_that_was_said(matchers: tuple[Matcher, ...]) -> None:
    check_request(a_request(matchers=matchers), A_MOMENT, covers_all=True)
    check_request(a_request(), A_MOMENT)


@pytest.mark.parametrize(
    ("now", "zone", "ends"),
    [
        ("2026-11-20T23:10", "UTC", "2026-11-21T07:00"),
        ("2026-11-20T06:59", "UTC", "2026-11-20T07:00"),
        ("2026-11-20T07:00", "UTC", "2026-11-21T07:00"),
        ("2026-11-20T23:10", "Europe/Berlin", "2026-11-21T06:00"),
        ("2026-03-28T22:00", "Europe/Berlin", "2026-03-29T05:00"),  # the night is an hour shorter
        ("2026-11-20T23:10", "America/New_York", "2026-11-21T12:00"),
    ],
)
def test_silence_of_a_night_ends_at_seven_where_the_person_is(
    now: str, zone: str, ends: str
) -> None:
    at = utc(now)

    assert next_morning(at, ZoneInfo(zone)) == utc(ends)
