"""When a network is cheap, by weekday and hour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from dashboard.domain.fees.cheap_hours import CheapHours, HourFee, UsualWeek, WeekChange, usual_week
from dashboard.domain.quantity import Wei
from tests.builders import GWEI

NOW = datetime(2026, 11, 20, 12, 20, tzinfo=UTC)
"""A Friday."""

KOLKATA = ZoneInfo("Asia/Kolkata")
ZURICH = ZoneInfo("Europe/Zurich")
CHEAP = CheapHours(3, 0, Wei(10 * GWEI), -0.2)


def hours(days: int, fee: Callable[[datetime], int]) -> list[HourFee]:
    """Return the hours of so many days before now."""
    hour = NOW.replace(minute=0)
    begun = [hour - timedelta(hours=back) for back in range(24 * days, 0, -1)]
    return [HourFee(each, fee(each)) for each in begun]


def cheap_at_night(at: datetime) -> int:
    """Return a fee that is half from 03:00 to 06:00 UTC."""
    return 10 * GWEI if at.hour in {3, 4, 5} else 20 * GWEI


def known(week: UsualWeek) -> set[Wei | None]:
    """Return which fees a week has."""
    return {each for row in week.fees for each in row}


def test_week_has_the_median_of_each_weekday_and_hour() -> None:
    week = usual_week(hours(28, lambda at: at.weekday() * 100 + at.hour), UTC, NOW)

    assert week.fees == tuple(
        tuple(weekday * 100 + hour for hour in range(24)) for weekday in range(7)
    )
    assert week.days == 29
    assert week.is_known


def test_weekday_and_hour_seen_twice_are_left_blank() -> None:
    week = usual_week(hours(14, cheap_at_night), UTC, NOW)

    assert known(week) == {None}
    assert not week.is_known


def test_hours_are_those_of_the_zone_across_a_change_of_its_clock() -> None:
    past = [
        HourFee(datetime(2026, 10, day, at, tzinfo=UTC), 7)
        for day, at in ((11, 1), (18, 1), (25, 2))
    ]

    week = usual_week(past, ZURICH, datetime(2026, 10, 26, tzinfo=UTC))

    assert week.fees[6][3] == 7
    assert known(week) == {None, 7}


def test_zone_of_half_an_hour_says_at_which_minute_its_hours_begin() -> None:
    week = usual_week(hours(30, cheap_at_night), KOLKATA, NOW)

    assert week.minute == 30
    assert week.cheapest is not None
    assert (week.cheapest.hour, week.cheapest.minute) == (8, 30)


def test_cheapest_hours_follow_each_other_across_midnight_too() -> None:
    week = usual_week(hours(4, lambda at: 1 if at.hour in {23, 0, 1} else 2), UTC, NOW)

    assert week.cheapest == CheapHours(23, 0, Wei(1), -0.5)


def test_three_of_four_cheap_hours_cost_at_most_what_is_said() -> None:
    prices = iter(range(10_000))
    week = usual_week(
        hours(4, lambda at: next(prices) % 4 if at.hour in {3, 4, 5} else 9), UTC, NOW
    )

    assert week.cheapest is not None
    assert week.cheapest.below in {1, 2}


def test_difference_is_that_of_the_fee_that_is_said() -> None:
    prices = iter([80, 80, 95, 95] * 3)
    week = usual_week(hours(4, lambda at: next(prices) if at.hour in {3, 4, 5} else 100), UTC, NOW)

    assert week.cheapest == CheapHours(3, 0, Wei(95), -0.05)


def test_nothing_is_called_cheap_until_each_hour_of_the_day_was_seen_thrice() -> None:
    assert usual_week(hours(2, cheap_at_night), UTC, NOW).cheapest is None
    assert usual_week([], UTC, NOW).cheapest is None


def test_fee_of_zero_is_no_dearer_than_itself() -> None:
    week = usual_week(hours(15, lambda _: 0), UTC, NOW)

    assert week.cheapest is not None
    assert not week.cheapest.is_clear
    assert week.weeks is not None
    assert week.weeks.in_words().endswith("of the 7 before 0 wei.")


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (NOW, "from 03:00 to 06:00 UTC (next in 14 h)"),
        (NOW.replace(hour=4), "from 03:00 to 06:00 UTC (that is now)"),
        (NOW.replace(hour=2), "from 03:00 to 06:00 UTC (next in 40 min)"),
    ],
)
def test_cheap_hours_are_said_with_when_they_come(at: datetime, said: str) -> None:
    assert CHEAP.in_words(at, UTC, "UTC") == (
        f"Usually below 10.00 gwei {said}. That is 20% below the median of all hours."
    )


@pytest.mark.parametrize(("hour", "said"), [(0, "that is now"), (22, "next in 40 min")])
def test_cheap_hours_across_midnight_are_known_after_it(hour: int, said: str) -> None:
    words = replace(CHEAP, hour=23).in_words(NOW.replace(hour=hour), UTC, "UTC")

    assert f"from 23:00 to 02:00 UTC ({said})" in words


def test_hours_that_are_hardly_cheaper_are_not_recommended() -> None:
    assert replace(CHEAP, difference=-0.02).in_words(NOW, UTC, "UTC") == (
        "No hours of the day are clearly cheaper: in the cheapest three, 03:00 to 06:00 UTC, it is "
        "usually below 10.00 gwei, 2% below the median of all hours."
    )


def test_now_is_compared_with_the_same_hour_of_the_days_before() -> None:
    fees = iter(range(10_000))
    week = usual_week(hours(5, lambda at: next(fees) if at.hour == NOW.hour else 0), UTC, NOW)

    assert week.this_hour == (0, 1, 2, 3, 4)
    assert week.beside_now(Wei(3)) == (
        "The fee now, 3 wei, is higher than at this hour on 3 of 5 days (60%)."
    )


def test_now_is_not_compared_with_two_days() -> None:
    assert usual_week(hours(2, cheap_at_night), UTC, NOW).beside_now(Wei(1)) is None


def test_week_is_compared_with_the_one_before() -> None:
    turned = NOW - timedelta(days=7)
    week = usual_week(hours(15, lambda at: 3 * GWEI if at >= turned else 4 * GWEI), UTC, NOW)

    assert week.weeks == WeekChange(Wei(3 * GWEI), Wei(4 * GWEI))
    assert week.weeks.in_words() == (
        "the median of the last 7 days is 3.000 gwei, of the 7 before 4.000 gwei: "
        "25% below last week."
    )


def test_week_that_did_not_change_is_as_high() -> None:
    words = WeekChange(Wei(3), Wei(3)).in_words()

    assert words.endswith(": as high as last week.")


def test_week_is_not_compared_with_two_days_of_another() -> None:
    assert usual_week(hours(9, cheap_at_night), UTC, NOW).weeks is None
