"""Numbers, times and hashes as pages print them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.application.text import (
    age,
    exact_fee,
    fee,
    moment,
    moment_near,
    period,
    short_hash,
    span,
)
from dashboard.domain.quantity import TxHash, Wei

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-30, "in 30 s"),
        (0, "just now"),
        (0.9, "just now"),
        (12, "12 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (119, "1 min ago"),
        (89 * 60, "89 min ago"),
        (90 * 60, "1 h ago"),
        (47 * 3600, "47 h ago"),
        (48 * 3600, "2 days ago"),
    ],
)
def test_age_is_said_in_the_one_unit_that_fits(seconds: float, words: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == words


def test_length_of_time_is_rounded_down() -> None:
    assert span(timedelta(seconds=59.9)) == "59 s"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "0.5 s"),
        (4, "4 s"),
        (75, "1 min 15 s"),
        (600, "10 min"),
        (5399, "89 min 59 s"),
        (7200, "2 h"),
    ],
)
def test_period_is_said_to_the_second_where_it_is_short(seconds: float, words: str) -> None:
    assert period(timedelta(seconds=seconds)) == words


def test_moment_is_printed_in_utc_to_the_second() -> None:
    assert moment(NOW) == "2026-11-20 12:00:00 UTC"


def test_moment_of_today_is_printed_without_its_date() -> None:
    assert moment_near(NOW, NOW) == "12:00:00 UTC"
    assert moment_near(NOW - timedelta(days=1), NOW) == "19 Nov 12:00 UTC"


@pytest.mark.parametrize(
    ("wei", "words"),
    [
        (0, ("0", "wei")),
        (7, ("7", "wei")),
        (9_999, ("9,999", "wei")),
        (10_000, ("10.00", "kwei")),
        (999_999, ("1,000", "kwei")),
        (1_000_000, ("0.001000", "gwei")),
        (50_000_000, ("0.05000", "gwei")),
        (11_234_610_275, ("11.23", "gwei")),
        (9_999_996_000, ("10.00", "gwei")),
        (123_456_000_000_000, ("123,456", "gwei")),
    ],
)
def test_fee_is_printed_short_in_the_unit_that_fits(wei: int, words: tuple[str, str]) -> None:
    assert fee(Wei(wei)) == words


def test_exact_fee_keeps_every_digit() -> None:
    assert exact_fee(Wei(11_234_610_275)) == "11.234610275 gwei (11,234,610,275 wei)"


def test_shortened_hash_keeps_both_ends() -> None:
    assert short_hash(TxHash(bytes(range(32)))) == "0x00010203…1d1e1f"
