"""The pace of notifications: how many go within an hour, and what is merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.alerts.closings import expected_at, plan_closings
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.notification import Delay, NotificationKind, Precedence, Recipient
from dashboard.domain.alerts.pace import (
    FEW,
    HOUR,
    Closing,
    OpenNotification,
    Pace,
    RecipientTraffic,
    precedence_of,
    precedence_of_kind,
)
from tests.builders import A_MOMENT, A_NETWORK, a_transition, an_id, seconds

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


def test_digest_goes_by_itself_when_nothing_else_does() -> None:
    digests = [replace(each, kind=NotificationKind.DIGEST) for each in due(1, 2)]

    assert plan([*digests, *due(3)]) == [[3]]
    assert plan(digests) == [[1]]
    assert plan(digests, sent_before(*range(1, 13))) == []


def kind_of(precedence: Precedence) -> NotificationKind:
    is_reminder = precedence is Precedence.REMINDER
    return NotificationKind.REMINDER if is_reminder else NotificationKind.CHANGE


def sent_before(*minutes: float) -> RecipientTraffic:
    return RecipientTraffic(tuple(A_MOMENT - MINUTE * each for each in minutes))


def test_few_go_by_themselves() -> None:
    assert plan(due(1, 2, 3)) == [[1], [2], [3]]


def test_last_that_goes_takes_all_others_with_it() -> None:
    assert plan(due(*range(1, 10))) == [[1], [2], [3], [4], [5, 6, 7, 8, 9]]


def test_what_was_held_up_goes_as_one() -> None:
    held_up = [*due(1, 2, late=3 * MINUTE), *due(3)]

    assert plan(held_up) == [[1, 2, 3]]
    assert plan([*due(1, late=3 * MINUTE), *due(2)]) == [[1], [2]]


def test_second_half_of_an_hour_is_spaced_out() -> None:
    assert plan(due(1, 2), sent_before(4, 4, 4, 4, 3)) == []
    assert plan(due(1, 2), sent_before(4, 4, 4, 4, 3.5)) == [[1, 2]]
    assert plan(due(1), sent_before(59, 58, 57, 56, 55, 54, 50, 26)) == []
    assert plan(due(1), sent_before(59, 58, 57, 56, 55, 54, 50, 27)) == [[1]]


def test_first_message_of_an_incident_waits_for_no_other_change() -> None:
    [first] = [replace(each, precedence=Precedence.OPENING) for each in due(9)]
    others = sent_before(*range(9, 0, -1))

    assert plan([*due(1, 2), first], others) == [[9]]
    assert plan([first], replace(others, first=others.recent)) == []
    assert plan([*due(1, 2), first], replace(others, first=others.recent)) == [[1], [2]]
    assert plan([first], sent_before(*range(1, 13))) == []


def test_quarter_of_the_hour_is_kept_for_first_messages() -> None:
    assert plan(due(1), sent_before(*range(40, 48))) == [[1]]
    assert plan(due(1), sent_before(*range(40, 49))) == []


def test_each_that_waits_is_expected_when_it_will_go() -> None:
    busy = replace(due(3)[0], is_of_network=True)
    [reminder] = [
        replace(each, kind=NotificationKind.REMINDER, precedence=Precedence.REMINDER)
        for each in due(4)
    ]
    traffic = sent_before(*[1] * 5)

    found = expected_at([*due(1, 2), busy, reminder], traffic, A_MOMENT, PACE)

    waits = {key.int: round((at - A_MOMENT) / MINUTE, 1) for key, at in found.items()}
    assert waits[1] == waits[2] > 0
    assert waits[3] != waits[1]
    assert waits.keys() == {1, 2, 3, 4}
    assert expected_at(due(1), sent_before(*[0] * 12), A_MOMENT, Pace(1)) == {
        an_id(1): A_MOMENT + HOUR
    }
    stuck = RecipientTraffic((), FEW, A_MOMENT)
    assert expected_at(due(1), stuck, A_MOMENT, PACE) == {}


def test_program_that_groups_by_itself_waits_for_no_cap() -> None:
    pace = Pace(2, uncapped=frozenset({"alertmanager"}))
    of_people, of_program = (pace.of(Recipient(each, each)) for each in ("mail", "alertmanager"))
    spent = sent_before(*[0] * 12)

    assert plan(due(1, 2), spent, of_people) == []
    assert plan(due(1, 2), spent, of_program) == [[1], [2]]
    assert of_program.opens_at(spent, A_MOMENT) == A_MOMENT


def test_cap_says_until_when() -> None:
    def opens(*minutes: float) -> float:
        return (PACE.opens_at(sent_before(*minutes), A_MOMENT) - A_MOMENT) / MINUTE

    assert opens(3, 3, 3) == 0
    assert round(opens(3, 3, 3, 3, 3), 1) == 0.3
    assert opens(59, 58, 57, 56, 55, 54, 53, 50, 48) == 1
    assert opens(*[0] * 12) == 60


def test_closing_that_is_late_says_why() -> None:
    def why(traffic: RecipientTraffic, *, is_back: bool = False) -> Delay | None:
        [closing] = plan_closings(due(1, late=3 * MINUTE), traffic, A_MOMENT, PACE, is_back=is_back)
        return closing.delay

    assert why(NOTHING) is Delay.WORKER
    assert why(sent_before(*[30] * 4)) is Delay.WORKER
    assert why(sent_before(*[30] * 5)) is Delay.CAP
    assert why(sent_before(2)) is Delay.CAP
    assert why(NOTHING, is_back=True) is Delay.SERVER
    assert why(RecipientTraffic(waiting=1, latest=A_MOMENT)) is Delay.SERVER
    [at_once] = plan_closings(due(1), NOTHING, A_MOMENT, PACE)
    assert at_once.delay is None


def test_twelve_are_all_that_go_within_an_hour() -> None:
    twelve = sent_before(59, 58, 57, 56, 55, 54, 53, 50, 48, 46, 44, 43)

    assert plan(due(1), twelve) == []
    assert plan(due(1), sent_before(60, *[30] * 4)) == [[1]]


def test_what_matters_most_goes_first_and_reminders_last() -> None:
    order = [
        Precedence.REMINDER,
        Precedence.RESOLVED,
        Precedence.CHANGE,
        Precedence.NETWORK,
        Precedence.OPENING,
        Precedence.CRITICAL,
    ]
    waiting = [
        replace(each, precedence=precedence, kind=kind_of(precedence))
        for each, precedence in zip(due(*range(1, 7)), order, strict=True)
    ]

    assert plan(waiting) == [[6], [5], [4], [3], [2], [1]]
    assert plan(waiting, sent_before(*[3] * 5)) == [[6], [5]]
    assert plan(waiting, sent_before(*[4] * 5)) == [[6], [5], [4, 3, 2]]


def test_change_goes_before_a_reminder_for_which_there_is_one_place() -> None:
    [reminder] = [replace(each, kind=NotificationKind.REMINDER) for each in due(1)]

    assert plan([reminder, *due(2)], sent_before(*[9] * 5, 6)) == []
    assert plan([reminder, *due(2)], sent_before(*[9] * 5, 7)) == [[2]]


def test_reminders_are_one_message_and_leave_room_for_changes() -> None:
    reminders = [replace(each, kind=NotificationKind.REMINDER) for each in due(1, 2, 3)]
    often = [A_MOMENT - MINUTE * each for each in (12, 10, 8, 6, 4, 2)]
    reminded = RecipientTraffic(often, reminders=often)

    assert plan([*reminders, *due(4)]) == [[4], [1, 2, 3]]
    assert plan([*reminders, *due(*range(4, 13))], reminded) == [
        [4],
        [5],
        [*range(6, 13)],
    ]
    assert plan(reminders, sent_before(*[30] * 9)) == []


def test_change_of_a_network_is_not_hidden_among_rejections() -> None:
    busy = replace(due(9)[0], is_of_network=True)

    assert plan([*due(1, 2, 3), busy], sent_before(*[3] * 4)) == [[9]]
    assert plan([*due(1, 2, 3), busy], sent_before(*[3] * 3)) == [[9], [1, 2, 3]]


def test_end_of_an_incident_waits_for_its_beginning_and_delays_no_other() -> None:
    [over, begun, other] = due(1, 2, 3)
    waiting = [
        replace(over, precedence=Precedence.RESOLVED, incident_id=an_id(70)),
        replace(begun, precedence=Precedence.OPENING, incident_id=an_id(70)),
        replace(other, precedence=Precedence.NETWORK),
    ]

    assert plan(waiting) == [[1], [2], [3]]


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


@pytest.mark.parametrize(
    ("after", "severity", "is_first", "precedence"),
    [
        (State.CALM, "critical", False, Precedence.RESOLVED),
        (State.BUSY, "critical", False, Precedence.CRITICAL),
        (State.BUSY, "warning", True, Precedence.OPENING),
        (State.BUSY, "warning", False, Precedence.NETWORK),
    ],
)
def test_change_has_its_place_among_others(
    after: State, severity: str, *, is_first: bool, precedence: Precedence
) -> None:
    change = a_transition(subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=after)

    assert precedence_of(change, severity, is_first=is_first) is precedence


@pytest.mark.parametrize(
    ("kind", "severity", "precedence"),
    [
        (NotificationKind.REMINDER, "critical", Precedence.REMINDER),
        (NotificationKind.ESCALATION, "critical", Precedence.CRITICAL),
        (NotificationKind.ESCALATION, "warning", Precedence.OPENING),
        (NotificationKind.RESOLVED, "critical", Precedence.RESOLVED),
        (NotificationKind.ACKNOWLEDGED, "critical", Precedence.CHANGE),
    ],
)
def test_what_is_said_of_an_incident_has_its_place(
    kind: NotificationKind, severity: str, precedence: Precedence
) -> None:
    assert precedence_of_kind(kind, severity) is precedence


def test_reminders_have_room_again_later_than_changes() -> None:
    busy = sent_before(*range(1, 10))
    changes, reminders = (
        PACE.opens_at(busy, A_MOMENT, each) for each in (Precedence.CHANGE, Precedence.REMINDER)
    )

    assert changes <= reminders
    assert PACE.has_room_for_reminders(busy, reminders)


def test_what_waited_goes_as_one_mail_with_what_is_said_of_incidents() -> None:
    waited = [replace(each, was_held=True) for each in due(1, 2)]
    reminder = [replace(each, kind=NotificationKind.REMINDER) for each in due(3)]

    assert plan([*reminder, *waited]) == [[1, 2, 3]]
    assert plan([*reminder, *waited], sent_before(*range(1, 13))) == []
