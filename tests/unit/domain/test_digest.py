"""Digests: when one comes, by the clocks of the recipient."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from dashboard.domain.alerts.notification import DigestTime
from dashboard.errors import InputError

ZURICH = ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize("text", ["daily 08:00", "weekly mon 00:00", "weekly sun 23:59"])
def test_time_of_a_digest_is_read_as_it_is_written(text: str) -> None:
    time = DigestTime.parse(f" {text.upper()} ")

    assert (str(time), time.is_weekly) == (text, text.startswith("weekly"))


@pytest.mark.parametrize(
    "text", ["", "daily", "daily 24:00", "weekly 08:00", "weekly foo 08:00", "mon 08:00", "0" * 99]
)
def test_what_is_no_time_of_a_digest_is_named_with_the_form(text: str) -> None:
    with pytest.raises(InputError, match="write daily 08:00 or weekly mon 08:00"):
        DigestTime.parse(text)


@pytest.mark.parametrize(
    ("text", "now", "latest"),
    [
        ("daily 08:00", datetime(2026, 11, 20, 7, 0, tzinfo=UTC), (2026, 11, 20, 7, 0)),
        ("daily 08:00", datetime(2026, 11, 20, 6, 59, tzinfo=UTC), (2026, 11, 19, 7, 0)),
        ("weekly mon 08:00", datetime(2026, 11, 20, 12, 0, tzinfo=UTC), (2026, 11, 16, 7, 0)),
        ("weekly mon 08:00", datetime(2026, 11, 16, 6, 0, tzinfo=UTC), (2026, 11, 9, 7, 0)),
        # The clocks are put forward from 02:00 to 03:00, and later back from 03:00 to 02:00.
        ("daily 02:30", datetime(2026, 3, 29, 12, 0, tzinfo=UTC), (2026, 3, 29, 1, 30)),
        ("daily 08:00", datetime(2026, 3, 29, 12, 0, tzinfo=UTC), (2026, 3, 29, 6, 0)),
        ("daily 02:30", datetime(2026, 10, 25, 12, 0, tzinfo=UTC), (2026, 10, 25, 0, 30)),
        ("weekly sun 02:30", datetime(2026, 10, 25, 0, 29, tzinfo=UTC), (2026, 10, 18, 0, 30)),
    ],
)
def test_digest_comes_at_the_time_that_the_clocks_of_the_recipient_show(
    text: str, now: datetime, latest: tuple[int, ...]
) -> None:
    year, month, day, hour, minute = latest

    found = DigestTime.parse(text).latest(now, ZURICH)

    assert found == datetime(year, month, day, hour, minute, tzinfo=UTC)
