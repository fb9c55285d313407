"""Active hours are those that clocks on the wall show, on the days when they are set as well."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.people.active_hours import (
    ActiveHours,
    WeeklyHours,
    WeekSpan,
    next_in_all,
)
from dashboard.errors import InputError
from tests.builders import utc

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"),
    *("America/St_Johns", "Pacific/Apia", "Africa/Casablanca", "Asia/Kathmandu", "Europe/Dublin"),
)


def hours(*spans: str) -> ActiveHours:
    """Return the hours of these spans in Berlin."""
    return ActiveHours(tuple(map(WeekSpan.parse, spans)), "Europe/Berlin")


@pytest.mark.parametrize(
    ("span", "local", "is_on"),
    [
        ("mon-fri 08:00-18:00", "2026-11-20T08:00", True),
        ("mon-fri 08:00-18:00", "2026-11-20T07:59", False),
        ("mon-fri 08:00-18:00", "2026-11-20T18:00", False),
        ("mon-fri 08:00-18:00", "2026-11-21T12:00", False),
        ("fri 22:00-06:00", "2026-11-20T23:00", True),
        ("fri 22:00-06:00", "2026-11-21T05:59", True),
        ("fri 22:00-06:00", "2026-11-21T06:00", False),
        ("fri 22:00-06:00", "2026-11-20T05:00", False),
        ("sat-mon 00:00-24:00", "2026-11-22T23:59", True),
        ("sat-mon 00:00-24:00", "2026-11-24T00:00", False),
    ],
)
def test_span_holds_the_hours_of_its_days(span: str, local: str, *, is_on: bool) -> None:
    at = datetime.fromisoformat(local).replace(tzinfo=BERLIN)

    assert hours(span).are_on(at, BERLIN) is is_on


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Mon-Fri 08:00-18:00", "mon-fri 08:00-18:00"),
        (" sun,sat 22:00-06:00 ", "sat-sun 22:00-06:00"),
        ("sat-mon,wed 00:00-24:00", "mon,wed,sat-sun 00:00-24:00"),
    ],
)
def test_span_is_written_with_its_days_in_order(text: str, written: str) -> None:
    assert str(WeekSpan.parse(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        *("", "mon 8:00-18:00", "08:00-18:00", "mon 24:00-06:00", "mon 08:00-24:01"),
        *("mon 08:00-08:00", "foo 08:00-18:00", "mon-wed-fri 08:00-18:00", "mon 08:00-29:00"),
    ],
)
def test_what_is_no_span_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="such as mon-fri 08:00-18:00"):
        WeekSpan.parse(text)


@pytest.mark.parametrize(
    ("span", "at", "begins"),
    [
        # 02:30 is not shown in spring: the hours begin when the clocks are put forward.
        ("sun 02:30-05:00", "2026-03-29T00:00", "2026-03-29T01:00"),
        # In autumn they begin when the clocks show 02:30 for the first time.
        ("sun 02:30-05:00", "2026-10-24T22:00", "2026-10-25T00:30"),
        # An hour that is shown twice is on twice.
        ("sun 02:00-02:30", "2026-10-25T00:45", "2026-10-25T01:00"),
        ("sun 01:30-02:30", "2026-10-25T00:45", "2026-10-25T01:00"),
        # One that is skipped comes a week later.
        ("sun 02:10-02:50", "2026-03-29T00:00", "2026-04-05T00:10"),
        ("mon-fri 08:00-18:00", "2026-11-20T17:00", "2026-11-23T07:00"),
        ("sun 02:30-02:45", "2026-10-25T00:50", "2026-10-25T01:30"),  # again, when clocks go back
    ],
)
def test_hours_begin_when_clocks_show_so(span: str, at: str, begins: str) -> None:
    assert hours(span).next_on(utc(at), BERLIN) == utc(begins)


@pytest.mark.parametrize(
    ("span", "at", "ends"),
    [
        ("sun 02:00-04:00", "2026-11-22T01:30", "2026-11-22T03:00"),
        # In spring the clocks show one of these two hours, in autumn one of them twice.
        ("sun 02:00-04:00", "2026-03-29T01:00", "2026-03-29T02:00"),
        ("sun 02:00-04:00", "2026-10-25T00:00", "2026-10-25T03:00"),
        # They end when the clocks are put forward past the end, or back before the beginning.
        ("sun 01:00-02:30", "2026-03-29T00:30", "2026-03-29T01:00"),
        ("sun 02:30-03:30", "2026-10-25T00:45", "2026-10-25T01:00"),
        ("sat 22:00-06:00", "2026-10-24T21:00", "2026-10-25T05:00"),
        ("sat,sun 00:00-24:00", "2026-11-21T12:00", "2026-11-22T23:00"),
        ("mon-sun 00:00-24:00", "2026-11-21T12:00", None),
    ],
)
def test_hours_end_when_clocks_show_so(span: str, at: str, ends: str | None) -> None:
    assert hours(span).are_on(utc(at), BERLIN)
    assert hours(span).next_off(utc(at), BERLIN) == (ends and utc(ends))


def test_weekly_hours_that_are_on_begin_at_once_and_are_named_with_their_zone() -> None:
    weekly = WeeklyHours(hours("sun 02:00-04:00", "wed 22:00-23:00"), BERLIN)

    assert weekly.span(utc("2026-11-19T12:00")) == (
        utc("2026-11-22T01:00"),
        utc("2026-11-22T03:00"),
    )
    assert weekly.span(utc("2026-11-22T02:00"))[0] == utc("2026-11-22T02:00")
    assert str(weekly) == "sun 02:00-04:00, wed 22:00-23:00 Europe/Berlin"


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001 - Hypothesis takes bounds without a zone
    st.tuples(st.integers(0, 1439), st.integers(0, 1439)).filter(lambda each: each[0] != each[1]),
)
def test_nothing_is_on_before_the_next_hours_nor_off_before_they_end(
    zone: str, at: datetime, times: tuple[int, int]
) -> None:
    """Compare with a walk from minute to minute."""
    found = ActiveHours((WeekSpan((0, 2, 6), *times),), zone)
    moment = at.replace(second=0, microsecond=0, tzinfo=UTC)

    begins = found.next_on(moment, ZoneInfo(zone))

    assert found.are_on(begins, ZoneInfo(zone))
    minutes = int((begins - moment) / timedelta(minutes=1))
    earlier = (moment + timedelta(minutes=count) for count in range(min(minutes, 3000)))
    assert not any(found.are_on(each, ZoneInfo(zone)) for each in earlier)
    ends = found.next_off(begins, ZoneInfo(zone))
    assert ends is not None
    assert not found.are_on(ends, ZoneInfo(zone))
    minutes = int((ends - begins) / timedelta(minutes=1))
    within = (begins + timedelta(minutes=count) for count in range(minutes))
    assert all(found.are_on(each, ZoneInfo(zone)) for each in within)


SPANS = st.builds(
    lambda day, begins, length: WeekSpan((day,), begins * 15, (begins + length) * 15 % 1440),
    *(st.integers(0, 6), st.integers(0, 95), st.integers(1, 95)),
)
"""Spans of quarters of hours, some of them past midnight."""

WEEKLY = st.builds(
    lambda spans, zone: WeeklyHours(ActiveHours(tuple(spans), zone), ZoneInfo(zone)),
    *(st.lists(SPANS, min_size=1, max_size=4), st.sampled_from(ZONES)),
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(WEEKLY, min_size=1, max_size=3),
    st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001 - Hypothesis takes bounds without a zone
)
def test_common_hours_begin_with_the_first_moment_at_which_all_are_on(
    all_hours: list[WeeklyHours], at: datetime
) -> None:
    """Compare with a walk through a week, by quarters of an hour."""
    moment = at.replace(minute=0, second=0, microsecond=0, tzinfo=UTC)
    quarters = (moment + timedelta(minutes=15) * count for count in range(7 * 96))
    first = next((each for each in quarters if all(one.are_on(each) for one in all_hours)), None)

    found = next_in_all(all_hours, moment)

    is_later = found is None or found >= moment + timedelta(days=7)
    assert first == (None if is_later else found)


def test_hours_that_are_never_on_together_have_no_first_common_moment() -> None:
    weekly = [
        WeeklyHours(hours(each), BERLIN) for each in ("mon-fri 08:00-18:00", "sat 00:00-24:00")
    ]

    assert next_in_all(weekly, utc("2026-11-20T12:00")) is None


class CountingZone(tzinfo):
    """UTC, and how often it was asked for its offset."""

    asked = 0

    def utcoffset(self, _: datetime | None, /) -> timedelta:
        self.asked += 1
        return timedelta()

    def dst(self, _: datetime | None, /) -> timedelta:
        return timedelta()

    def tzname(self, _: datetime | None, /) -> str:
        return "counted"


def test_next_hours_of_one_moment_are_computed_once_however_many_changes_wait_for_them() -> None:
    zone, at, night = CountingZone(), utc("2026-11-20T03:00"), hours("mon-fri 08:00-18:00")

    first = night.next_on(at, zone)
    once = zone.asked
    again = {night.next_on(at, zone) for _ in range(10)}

    assert again == {first} == {utc("2026-11-20T08:00")}
    assert zone.asked < once + 100
