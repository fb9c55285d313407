"""Timestamps of the exclusion API: which texts are one, and how one is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.errors import WireError
from dashboard.wire.decoding import format_timestamp, parse_timestamp


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2026-11-18T07:41:12.304Z", "2026-11-18T07:41:12.304Z"),
        ("2026-11-18T07:41:12.304987Z", "2026-11-18T07:41:12.304Z"),
        ("2026-11-18T07:41:12.304999999Z", "2026-11-18T07:41:12.304Z"),
        ("2026-11-18T07:41:12.000999Z", "2026-11-18T07:41:12Z"),
        ("2026-11-18T07:41:51.000Z", "2026-11-18T07:41:51Z"),
        ("2026-11-18T07:41:51.5Z", "2026-11-18T07:41:51.500Z"),
        ("2026-11-18T07:41:51.05Z", "2026-11-18T07:41:51.050Z"),
        ("2026-11-19T23:05:03+01:00", "2026-11-19T22:05:03Z"),
        ("2026-11-19T23:05:03+0545", "2026-11-19T17:20:03Z"),
        ("2026-11-19T23:05:03-08", "2026-11-20T07:05:03Z"),
        ("2026-11-19T23:05:03-00:00", "2026-11-19T23:05:03Z"),
        ("2026-11-19t23:05:03z", "2026-11-19T23:05:03Z"),
        ("2026-11-19T23:05Z", "2026-11-19T23:05:00Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("2027-01-01T00:30:00+01:00", "2026-12-31T23:30:00Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_timestamp_is_normalised_to_utc_and_cut_to_the_millisecond(text: str, normal: str) -> None:
    moment = parse_timestamp(text)

    assert moment.tzinfo is UTC
    assert format_timestamp(moment) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-18",
        "2026-11-18T07:41:12",
        "2026-11-18 07:41:12Z",
        "2026-11-18T07Z",
        "20261118T074112Z",
        "2026-W47-3T07:41:12Z",
        "2026-322T07:41:12Z",
        "2026-11-18T07:41:12.Z",
        "2026-11-18T07:41:12,304Z",
        "2026-11-18T07:41:12.3049999999Z",
        "2026-11-18T07:41.5Z",
        "2026-11-18T07:41:12+1:00",
        "2026-11-18T07:41:12+01:00[Europe/Paris]",
        " 2026-11-18T07:41:12Z",
        "2026-11-18T07:41:12Z\n",
        "+12026-11-18T07:41:12Z",
        "-0001-11-18T07:41:12Z",
        "1763451672304",
        "2026-01-01T00:00:00-99:99",
        "2026-01-01T00:00:00+00:60",
        "2026-01-01T24:00:00Z",
        "\uff12\uff10\uff12\uff16-11-18T07:41:12Z",
        "2026-11-18T07:41:12Z" * 1000,
    ],
)
def test_timestamp_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="is not an ISO-8601 date-time"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-01T23:60:00Z",
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-01-01T00:00:00+24:00",
    ],
)
def test_timestamp_that_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="is not a time that exists"):
        parse_timestamp(text)


def test_timestamp_of_another_zone_is_printed_in_utc() -> None:
    moment = datetime(2026, 11, 19, 23, 5, 3, 40_000, timezone(timedelta(hours=1)))

    assert format_timestamp(moment) == "2026-11-19T22:05:03.040Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_round_trip_keeps_whole_milliseconds(moment: datetime) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    assert parse_timestamp(format_timestamp(moment)) == whole
