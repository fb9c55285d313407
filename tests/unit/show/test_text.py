"""Numbers, times and hashes as pages print them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.application.text import age, exact_fee, moment_near
from dashboard.domain.formatting import short_hash
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
        (119 * 60, "119 min ago"),
        (120 * 60, "2 h ago"),
        (47 * 3600, "47 h ago"),
        (48 * 3600, "2 days ago"),
    ],
)
def test_age_is_said_in_the_one_unit_that_fits(seconds: float, words: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == words


def test_moment_of_today_is_printed_without_its_date() -> None:
    assert moment_near(NOW, NOW) == "12:00:00 UTC"
    assert moment_near(NOW - timedelta(days=1), NOW) == "19 Nov 12:00 UTC"


def test_exact_fee_keeps_every_digit() -> None:
    assert exact_fee(Wei(11_234_610_275)) == "11.234610275 gwei (11,234,610,275 wei)"


def test_shortened_hash_keeps_both_ends() -> None:
    assert short_hash(TxHash(bytes(range(32)))) == "0x00010203…1d1e1f"
