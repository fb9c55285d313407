"""`Retry-After`: seconds or a date of the server's own clock, five minutes at most."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.wire.decoding import LONGEST_RETRY_AFTER, parse_retry_after

NOON = "Fri, 20 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("text", "date", "wait"),
    [
        ("120", "", timedelta(minutes=2)),
        (" 0 ", NOON, timedelta()),
        ("9" * 400, NOON, LONGEST_RETRY_AFTER),
        ("Fri, 20 Nov 2026 12:00:30 GMT", NOON, timedelta(seconds=30)),
        ("Fri, 20 Nov 2026 11:59:30 GMT", NOON, timedelta()),
        ("Fri, 20 Nov 2099 11:59:30 GMT", NOON, LONGEST_RETRY_AFTER),
        ("Fri, 20 Nov 2026 12:00:30 GMT", "", None),
        ("Fri, 20 Nov 2026 12:00:30", NOON, None),
        ("soon", NOON, None),
        ("\u0661\u0662", NOON, None),
        ("", NOON, None),
    ],
)
def test_wait_is_read_in_each_form(text: str, date: str, wait: timedelta | None) -> None:
    assert parse_retry_after(text, date) == wait
