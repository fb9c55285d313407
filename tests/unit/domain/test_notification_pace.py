"""The pace of notifications: how many go within an hour, and what is merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.notification import Recipient
from dashboard.domain.notification_pace import (
    FEW,
    HOUR,
    Closing,
    OpenNotification,
    Pace,
    RecipientTraffic,
    plan_closings,
)
from tests.builders import A_MOMENT, an_id, seconds

PACE = Pace()
NOTHING = RecipientTraffic()
MINUTE = timedelta(minutes=1)


def due(
    *positions: int, members: int = 1, late: timedelta = timedelta(), is_urgent: bool = False
) -> list[OpenNotification]:
    at = A_MOMENT - late
    return [
        OpenNotification(
            *(an_id(each), Recipient("mail", "ops@example.org"), each, at, at, members),
            is_urgent=is_urgent,
        )
        for each in positions
    ]


def plan(
    notifications: Sequence[OpenNotification],
    traffic: RecipientTraffic = NOTHING,
    pace: Pace = PACE,
) -> list[list[int]]:
    return [
        [each.int for each in (closing.notification_id, *closing.merged)]
        for closing in plan_closings(notifications, traffic, A_MOMENT, pace)
    ]


def sent_before(*minutes: float) -> RecipientTraffic:
    return RecipientTraffic(tuple(A_MOMENT - MINUTE * each for each in minutes))


def test_few_go_by_themselves() -> None:
    assert plan(due(1, 2, 3)) == [[1], [2], [3]]


def test_last_that_goes_takes_all_others_with_it() -> None:
    assert plan(due(*range(1, 10))) == [[1], [2], [3], [4], [5], [6, 7, 8, 9]]


def test_what_was_held_up_goes_as_one() -> None:
    held_up = [*due(1, 2, late=3 * MINUTE), *due(3)]

    assert plan(held_up) == [[1, 2, 3]]
    assert plan([*due(1, late=3 * MINUTE), *due(2)]) == [[1], [2]]


def test_second_half_of_an_hour_is_spaced_out() -> None:
    assert plan(due(1, 2), sent_before(3, 3, 3, 3, 3, 0.5)) == []
    assert plan(due(1, 2), sent_before(3, 3, 3, 3, 3, 1)) == [[1, 2]]
    assert plan(due(1), sent_before(59, 58, 57, 56, 55, 54, 53, 50, 44, 31, 24)) == []
    assert plan(due(1), sent_before(59, 58, 57, 56, 55, 54, 53, 50, 44, 31, 26)) == [[1]]


def test_twelve_are_all_that_go_within_an_hour() -> None:
    twelve = sent_before(59, 58, 57, 56, 55, 54, 53, 50, 48, 46, 44, 43)

    assert plan(due(1), twelve) == []
    assert plan(due(1), sent_before(60, *[30] * 4)) == [[1]]


def test_what_is_urgent_goes_whatever_went_before() -> None:
    assert plan([*due(1, 3, is_urgent=True), *due(2)], sent_before(*[1] * 12)) == [[1], [3]]


def test_a_thousand_urgent_ones_are_twelve_messages_and_then_one_a_minute() -> None:
    storm = due(*range(1, 1_001), is_urgent=True)

    assert plan(storm) == [*([each] for each in range(1, 12)), [*range(12, 1_001)]]
    assert plan(due(1, 2, is_urgent=True), RecipientTraffic(urgent=[A_MOMENT] * 12)) == []
    minute_ago = RecipientTraffic(urgent=[A_MOMENT - MINUTE] * 12)
    assert plan([*due(1, 3, is_urgent=True), *due(2)], minute_ago) == [[1, 3], [2]]


def test_times_that_lie_ahead_do_not_count() -> None:
    assert plan(due(1), sent_before(*[-5] * 12)) == [[1]]


def test_one_message_names_no_more_than_it_can() -> None:
    pace = Pace(largest_hourly=1, largest_members=10)

    assert plan(due(1, 2, 3, members=5), pace=pace) == [[1, 2]]
    assert plan(due(1, 2, members=15), pace=pace) == [[1]]


def test_everything_gathers_while_enough_waits_to_be_delivered() -> None:
    def stuck(waiting: int, minutes: float) -> RecipientTraffic:
        return RecipientTraffic((), waiting, A_MOMENT - MINUTE * minutes)

    assert plan(due(1), stuck(FEW - 1, 0)) == [[1]]
    assert plan(due(1), stuck(FEW, 9)) == []
    assert plan(due(1), stuck(FEW, 10)) == [[1]]
    assert plan(due(1), stuck(FEW + 2, 39)) == []
    assert plan(due(1), stuck(FEW, -1)) == [[1]]


@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=60),
    st.integers(1, 30),
)
def test_nobody_gets_more_within_any_hour_than_the_cap_and_everything_goes_in_order(
    waits: list[int], largest: int
) -> None:
    pace, now = Pace(largest), A_MOMENT
    sent: list[datetime] = []
    gone: list[int] = []
    waiting: list[OpenNotification] = []
    for number in range(len(waits) + 200):
        now += seconds(waits[number]) if number < len(waits) else 5 * MINUTE
        if number < len(waits):
            waiting.append(
                OpenNotification(an_id(number), Recipient("mail", "a@b"), number, now, now)
            )
        for closing in plan_closings(waiting, RecipientTraffic(tuple(sent)), now, pace):
            ids = {closing.notification_id, *closing.merged}
            gone += [each.position for each in waiting if each.notification_id in ids]
            waiting = [each for each in waiting if each.notification_id not in ids]
            sent.append(now)
    assert gone == sorted(gone) == list(range(len(waits)))
    assert all(sum(at - HOUR < each <= at for each in sent) <= largest for at in sent)


def test_closing_alone_merges_nothing() -> None:
    assert plan_closings(due(1), RecipientTraffic(), A_MOMENT, PACE) == [Closing(an_id(1))]
