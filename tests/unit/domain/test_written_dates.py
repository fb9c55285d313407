"""Times of attempts: every usual form with one meaning is read, and no other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.tracking.written_dates import parse_attempt, read_attempt
from dashboard.errors import InputError

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ATTEMPT = NOW - timedelta(hours=2)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T10:00:00Z",
        "2026-11-20 10:00",
        "2026-11-20T12:00:00.000+02:00",
        "2026-11-20 10:00:00 UTC",
        "2026-11-20 10:00:00 +0000",
        "2026-11-20T10:00:00,000Z",
        "2026/11/20 10:00",
        "2026-11-20, 10:00",
        "20.11.2026 10:00",
        "20/11/2026 10:00:00",
        "11/20/2026 10:00",
        "11/20/2026, 10:00:00 AM",
        "20-Nov-2026 10:00",
        "20 November 2026 10:00:00 GMT",
        "Fri, 20 Nov 2026 05:00:00 -0500",
        "Nov 20, 2026 10:00 am",
        "Nov-20-2026 10:00:00 AM +UTC",
        "1795168800",
        "1795168800000",
        "1795168800.25",
    ],
)
def test_attempt_is_read_in_utc(text: str) -> None:
    moment = parse_attempt(text, NOW)

    assert moment.replace(microsecond=0) == ATTEMPT
    assert moment.utcoffset() == timedelta()


@pytest.mark.parametrize(
    ("text", "hour"), [("12:30 AM", 0), ("12:30 PM", 12), ("1:30 pm", 13), ("11:30pm", 23)]
)
def test_hours_of_half_a_day_are_read(text: str, hour: int) -> None:
    assert parse_attempt(f"2026-11-19 {text}", NOW).hour == hour


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "20261120T100000",
        "10:00",
        "1e9",
        "179516880",
        "46346.5",
        "\uff12026-11-20 10:00",
        "0001-01-01 00:00+10:00",
        "0001-01-01 00:00",
        "2026-13-01 10:00",
        "2026-11-20 24:00",
        "2026-11-20 13:00 PM",
        "2026-11-20 10:00 CET",
        "20/11/26 10:00",
        "31/02/2026 10:00",
    ],
)
def test_attempt_that_is_no_time_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match="is not a time; write it as"):
        parse_attempt(text, NOW)


def test_date_that_has_two_meanings_is_refused_unless_both_are_one() -> None:
    assert "has two meanings" in str(read_attempt("05/06/2026 10:00", NOW))
    assert read_attempt("06/06/2026 10:00", NOW) == datetime(2026, 6, 6, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2026-11-20", "20.11.2026", "11/20/2026", "20 Nov 2026"])
def test_date_without_a_time_of_day_is_refused_as_such(text: str) -> None:
    assert "has no time of day" in str(read_attempt(text, NOW))


@pytest.mark.parametrize("text", ["2026-11-20T11:30:00-01:00", "1795176001"])
def test_attempt_that_lies_in_the_future_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="lies in the future"):
        parse_attempt(text, NOW)


@given(st.text(alphabet="0123456789/-.: TZNovUTCPMapm+,()", max_size=40))
def test_any_text_is_a_past_moment_or_a_reason(text: str) -> None:
    moment = read_attempt(text, NOW)

    assert isinstance(moment, str) or moment <= NOW
