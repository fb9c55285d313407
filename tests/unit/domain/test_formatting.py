"""How times and fees are printed for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.formatting import (
    capitalized,
    compared,
    counted,
    fee,
    from_to,
    moment_in,
    name_order,
    period,
    size,
    span,
    uncapitalized,
    unit_of,
)
from dashboard.domain.quantity import LARGEST_FEE, Wei
from tests.builders import A_MOMENT, GWEI

FEES = st.integers(0, LARGEST_FEE).map(Wei)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (53.96, "54 s"),
        (59.94, "59 s"),
        (59.96, "1 min"),
        (60, "1 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172_799, "47 h"),
        (172_800, "2 days"),
    ],
)
def test_length_of_time_has_one_fitting_unit(seconds: float, said: str) -> None:
    assert span(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("at", "zone", "printed"),
    [
        (A_MOMENT, "UTC", "2026-11-20 12:00:00 UTC"),
        (A_MOMENT, "Europe/London", "2026-11-20 12:00:00 UTC"),
        (A_MOMENT, "Europe/Zurich", "2026-11-20 12:00:00 UTC (13:00:00 in Europe/Zurich)"),
        (
            A_MOMENT,
            "Pacific/Auckland",
            "2026-11-20 12:00:00 UTC (2026-11-21 01:00:00 in Pacific/Auckland)",
        ),
        (
            A_MOMENT.replace(month=7),
            "Europe/London",
            "2026-07-20 12:00:00 UTC (13:00:00 in Europe/London)",
        ),
        (
            datetime.max.replace(tzinfo=UTC),
            "Pacific/Auckland",
            "9999-12-31 23:59:59 UTC",
        ),
    ],
)
def test_moment_is_printed_in_a_zone_too_where_its_clock_differs(
    at: datetime, zone: str, printed: str
) -> None:
    assert moment_in(at, ZoneInfo(zone)) == printed


@pytest.mark.parametrize(
    ("wei", "printed"),
    [
        (0, ("0", "wei")),
        (9_999, ("9,999", "wei")),
        (10_000, ("10", "kwei")),
        (999_999, ("1,000", "kwei")),
        (23_100, ("23.1", "kwei")),
        (999_994, ("1,000", "kwei")),
        (1_000_000, ("0.001", "gwei")),
        (23_123_456_789, ("23.12", "gwei")),
        (9_999_996_000, ("10", "gwei")),
        (9_999_600_000, ("10", "gwei")),
        (1_234_567 * GWEI, ("1,234,567", "gwei")),
    ],
)
def test_fee_is_printed_in_the_unit_that_fits(wei: int, printed: tuple[str, str]) -> None:
    assert fee(Wei(wei)) == printed


def test_unit_tells_how_many_wei_it_has() -> None:
    assert unit_of(Wei(GWEI)) == (GWEI, "gwei")


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        (23_123_456_789, 19_600_000_000, ("23.1", "19.6", "gwei")),
        (23 * GWEI, 19 * GWEI, ("23", "19", "gwei")),
        (19_604_000_000, 19_600_000_000, ("19.604", "19.6", "gwei")),
        (300_000_000, 200_000_000, ("0.3", "0.2", "gwei")),
        (2_000_000_001, 2_000_000_000, ("2.000000001", "2", "gwei")),
        (9, 7, ("9", "7", "wei")),
        (7, 7, ("7", "7", "wei")),
        (30, 10, ("30", "10", "wei")),
    ],
)
def test_two_fees_are_printed_in_one_unit_with_few_digits(
    first: int, second: int, printed: tuple[str, str, str]
) -> None:
    assert compared(Wei(first), Wei(second)) == printed


@given(FEES, FEES)
def test_fees_that_differ_are_printed_differently(first: Wei, second: Wei) -> None:
    one, other, _ = compared(first, second)

    assert (one == other) is (first == second)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0.25, "0.25 s"), (4, "4 s"), (59.5, "59.5 s"), (60, "1 min"), (75, "1 min 15 s")),
        *((120, "2 min"), (7199, "119 min 59 s"), (7200, "2 h")),
    ],
)
def test_period_is_said_to_the_second_while_it_is_short(seconds: float, said: str) -> None:
    assert period(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        *((12, "12 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (4096, "4.1 kB")),
        *((10**6 - 1, "1,000.0 kB"), (10**6, "1.0 MB"), (1_500_000, "1.5 MB")),
        *((10**9 - 1, "1,000.0 MB"), (10**9, "1.0 GB"), (2_500_000_000, "2.5 GB")),
    ],
)
def test_size_is_printed_in_the_unit_that_fits(octets: int, said: str) -> None:
    assert size(octets) == said


@pytest.mark.parametrize(
    ("many", "said"), [(0, "0 rows are"), (1, "1 row is"), (1_200, "1,200 rows are")]
)
def test_number_is_printed_with_what_there_is_of_it(many: int, said: str) -> None:
    assert counted(many, "row is", "rows are") == said
    assert counted(many, "row") == said.removesuffix(" is").removesuffix(" are")


def test_names_are_sorted_as_people_count() -> None:
    names = ["Chain 10", "base", "Chain 2", "Arbitrum", "Chain"]

    assert sorted(names, key=name_order) == ["Arbitrum", "base", "Chain", "Chain 2", "Chain 10"]


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("the rule RPC", "The rule RPC"),
        ("ÖBB", "ÖBB"),
        ("", ""),
        ("a.b is 0", "a.b is 0"),
        ("no.", "No."),
    ],
)
def test_capital_is_only_the_first_letter(text: str, begun: str) -> None:
    assert capitalized(text) == begun


@pytest.mark.parametrize(
    ("text", "within"), [("The rule RPC", "the rule RPC"), ("ÖBB", "öBB"), ("", "")]
)
def test_only_the_first_letter_is_small_within_a_sentence(text: str, within: str) -> None:
    assert uncapitalized(text) == within


def test_time_from_and_to_names_its_days_where_there_are_two() -> None:
    end = A_MOMENT + timedelta(minutes=5)
    next_day = A_MOMENT + timedelta(days=1)

    assert from_to(A_MOMENT, end) == "from 12:00:00 to 12:05:00 UTC"
    assert from_to(A_MOMENT, next_day) == "from 2026-11-20 12:00:00 to 2026-11-21 12:00:00 UTC"
