"""Hours in which fees are low, what a transaction costs, and what surrounds a busy network."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from dashboard.domain.fees.busy_spells import (
    Spell,
    UsualFee,
    UsualSpells,
    difference_in_words,
    usual_fee,
    usual_spells,
)
from dashboard.domain.fees.cheap_hours import CheapHours, HourFee, UsualWeek, WeekChange, usual_week
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.transaction_cost import (
    CoinPrice,
    cost_of,
    in_coin,
    in_money,
    read_coin_price,
)
from dashboard.errors import InputError
from tests.builders import A_MOMENT, GWEI

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


def test_difference_is_that_of_the_fee_that_is_said() -> None:
    prices = iter([80, 80, 95, 120] * 3)
    week = usual_week(hours(4, lambda at: next(prices) if at.hour in {3, 4, 5} else 100), UTC, NOW)

    assert week.cheapest == CheapHours(3, 0, Wei(95), -0.05)


def test_nothing_is_called_cheap_until_each_hour_of_the_day_was_seen_thrice() -> None:
    assert usual_week(hours(2, cheap_at_night), UTC, NOW).cheapest is None
    assert usual_week(hours(3, cheap_at_night), UTC, NOW).cheapest is not None
    assert usual_week([], UTC, NOW).cheapest is None


def test_weeks_are_compared_once_three_days_of_each_are_known() -> None:
    this, last = 167, 73  # hours of ten days, seven of which end at 12:20
    past = hours(10, lambda _: 7)
    most = hours(14, lambda _: 7)

    def is_known(some: list[HourFee]) -> bool:
        return usual_week(some, UTC, NOW).weeks is not None

    assert [is_known(past[last - 72 :]), is_known(past[last - 71 :])] == [True, False]
    assert [is_known(most[: len(most) - this + each]) for each in (72, 71)] == [True, False]


def test_fee_of_zero_is_no_dearer_than_itself() -> None:
    week = usual_week(hours(15, lambda _: 0), UTC, NOW)

    assert week.cheapest is not None
    assert week.cheapest.difference == 0
    assert not week.cheapest.is_clear
    assert week.weeks is not None
    assert week.weeks.in_words().endswith("0 wei, after the 0 wei of the 7 days before.")


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (NOW, "from 03:00 to 06:00 UTC (next in 14 h)"),
        (NOW.replace(hour=3, minute=0), "from 03:00 to 06:00 UTC (now)"),
        (NOW.replace(hour=4), "from 03:00 to 06:00 UTC (now)"),
        (NOW.replace(hour=6, minute=0), "from 03:00 to 06:00 UTC (next in 21 h)"),
        (NOW.replace(hour=2), "from 03:00 to 06:00 UTC (next in 40 min)"),
    ],
)
def test_cheap_hours_are_said_with_when_they_come(at: datetime, said: str) -> None:
    assert CHEAP.in_words(at, UTC, "UTC") == (
        f"Usually below 10 gwei {said}. That is 20% below the median of all hours."
    )


@pytest.mark.parametrize(("hour", "said"), [(0, "now"), (22, "next in 40 min")])
def test_cheap_hours_across_midnight_are_known_after_it(hour: int, said: str) -> None:
    words = replace(CHEAP, hour=23).in_words(NOW.replace(hour=hour), UTC, "UTC")

    assert f"from 23:00 to 02:00 UTC ({said})" in words


def test_time_until_cheap_hours_is_right_in_the_night_of_a_clock_change() -> None:
    before = datetime(2026, 3, 28, 22, 0, tzinfo=UTC)  # 23:00; at 02:00 it becomes 03:00

    assert replace(CHEAP, hour=5).when(before, ZURICH) == "next in 5 h"


def test_hours_that_are_hardly_cheaper_are_not_recommended() -> None:
    assert replace(CHEAP, difference=-0.02).in_words(NOW, UTC, "UTC") == (
        "No hours of the day are clearly cheaper: in the cheapest three, 03:00 to 06:00 UTC, it is "
        "usually below 10 gwei, 2% below the median of all hours."
    )


def test_now_is_compared_with_the_same_hour_of_the_days_before() -> None:
    fees = iter(range(10_000))
    week = usual_week(hours(5, lambda at: next(fees) if at.hour == NOW.hour else 0), UTC, NOW)

    assert week.this_hour == (0, 1, 2, 3, 4)
    assert week.beside_now(Wei(3)) == (
        "The fee now, 3 wei, is higher than at this hour on 3 of 5 days."
    )
    assert week.beside_now(Wei(0)) == (
        "The fee now, 0 wei, is no higher than at this hour on any of 5 days."
    )


def test_now_is_not_compared_with_two_days() -> None:
    assert usual_week(hours(2, cheap_at_night), UTC, NOW).beside_now(Wei(1)) is None
    assert usual_week(hours(3, cheap_at_night), UTC, NOW).beside_now(Wei(1)) is not None


def test_week_is_compared_with_a_whole_one_before() -> None:
    turned = NOW - timedelta(days=7)
    week = usual_week(hours(15, lambda at: 3 * GWEI if at >= turned else 4 * GWEI), UTC, NOW)

    assert week.weeks == WeekChange(Wei(3 * GWEI), Wei(4 * GWEI))
    assert week.weeks.in_words() == (
        "the median of the last 7 days is 3 gwei, 25% below the 4 gwei of the 7 days before."
    )

    same = WeekChange(Wei(3), Wei(3))
    assert same.in_words().endswith(" as high as the 3 wei of the 7 days before.")
    assert usual_week(hours(9, cheap_at_night), UTC, NOW).weeks is None


PRICE = CoinPrice(3_150_500_000, "USD")


def test_costs_its_gas_at_the_fee() -> None:
    assert cost_of(Wei(12 * 10**9)) == 252_000 * 10**9


@pytest.mark.parametrize(
    ("wei", "shown"),
    [
        (0, "0 ETH"),
        (147_000, "147 kwei"),
        (4_200_000_000, "4.2 gwei"),
        (251 * 10**9, "0.25 µETH"),
        (252_000 * 10**9, "252 µETH"),
        (13_310 * 10**9, "13.3 µETH"),
        (1_185 * 10**12, "0.0012 ETH"),
        (1_234_567 * 10**15, "1,235 ETH"),
    ],
)
def test_amount_of_the_coin_has_no_more_digits_than_it_needs(wei: int, shown: str) -> None:
    assert in_coin(Wei(wei), "ETH") == shown


@pytest.mark.parametrize(
    ("wei", "shown"),
    [
        (0, "0.00 USD"),
        (252_000 * 10**9, "0.79 USD"),
        (10**12, "0.0032 USD"),
        (317 * 10**11, "0.10 USD"),
        (10**9, "< 0.0001 USD"),
        (2 * 10**18, "6,301.00 USD"),
    ],
)
def test_money_is_shown_to_the_hundredth_or_to_two_digits(wei: int, shown: str) -> None:
    assert in_money(Wei(wei), PRICE) == shown


def test_least_amount_is_shown_and_what_is_below_it_is_called_so() -> None:
    price = CoinPrice(1_000_000, "EUR")

    assert in_money(Wei(10**14), price) == "0.0001 EUR"
    assert in_money(Wei(10**14 - 1), price) == "< 0.0001 EUR"


def test_price_is_read_exactly() -> None:
    assert read_coin_price("3150.5 USD") == PRICE
    assert read_coin_price("3150 EUR") == CoinPrice(3_150_000_000, "EUR")
    for written in ("3150.5 USD", "3150 EUR", "0.000001 ABC"):
        assert str(read_coin_price(written)) == written


@pytest.mark.parametrize("text", [None, 3150, "315", "1e9 USD", "-1 USD", "$3150", "1 usd"])
def test_what_is_no_price_is_refused_with_what_is_expected(text: object) -> None:
    with pytest.raises(InputError, match="write an amount and a currency"):
        read_coin_price(text)


def spells(*hours_and_minutes: tuple[float, int]) -> list[Spell]:
    """Return spells that began so many hours before now, with their length in minutes."""
    return [
        Spell(begin := A_MOMENT - timedelta(hours=hours), begin + timedelta(minutes=minutes))
        for hours, minutes in hours_and_minutes
    ]


def test_spells_of_about_the_same_hour_are_compared() -> None:
    found = spells((24, 10), (47, 12), (71.5, 14), (73.5, 90), (12, 500), (30, 600))

    assert usual_spells(found, A_MOMENT) == UsualSpells(
        4, timedelta(minutes=13), timedelta(minutes=90), is_of_hour=True
    )


def test_spells_of_any_hour_stand_in_where_those_are_too_few() -> None:
    found = spells((24, 10), (47, 12), (60, 200))

    assert usual_spells(found, A_MOMENT) == UsualSpells(
        3, timedelta(minutes=12), timedelta(minutes=200), is_of_hour=False
    )


def test_hours_are_near_each_other_across_midnight() -> None:
    midnight = A_MOMENT.replace(hour=0) + timedelta(days=1)
    found = spells((12.5, 10), (36.5, 10), (11.5, 10), (5, 200))

    usual = usual_spells(found, midnight)

    assert usual is not None
    assert (usual.many, usual.is_of_hour) == (3, True)


def test_fee_is_usual_that_lies_in_the_middle_of_three_days_or_more() -> None:
    assert usual_fee([30, 10, 20, 90]) == UsualFee(Wei(20), 4)
    assert usual_fee([30, 10, 20]) == UsualFee(Wei(20), 3)
    assert usual_fee([10, 10]) is None


@pytest.mark.parametrize(
    ("fee", "words"),
    [
        (1_500, "50% above usual"),
        (1_004, "as usual"),
        (880, "12% below usual"),
        (13_000, "1,200% above usual"),
    ],
)
def test_fee_is_compared_with_what_is_usual(fee: int, words: str) -> None:
    difference = UsualFee(Wei(1_000), 30).difference(Wei(fee))

    assert difference is not None
    assert difference_in_words(difference) == words


def test_nothing_is_compared_with_no_fee_at_all() -> None:
    assert UsualFee(Wei(0), 30).difference(Wei(5)) is None


def test_spell_counts_for_nothing_while_it_lasts_or_where_its_end_is_unknown() -> None:
    lasting = Spell(A_MOMENT - timedelta(hours=1))
    lost = Spell(lasting.begins_at, A_MOMENT, is_end_known=False)

    assert usual_spells([*spells((24, 10), (48, 12)), lasting, lost], A_MOMENT) is None
