"""The hourly cap: how many notifications go within an hour, and what is merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.domain.alerts.closing_plan import expected_at, passed_over, plan_closings
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.hourly_cap import (
    FEW,
    HOUR,
    Gone,
    HourlyCap,
    OpenNotification,
    RecipientTraffic,
    precedence_of,
    precedence_of_kind,
)
from dashboard.domain.alerts.notification import Delay, NotificationKind, Precedence, Recipient
from tests.builders import A_MOMENT, A_NETWORK, MINUTE, a_transition, an_id, seconds

CAP = HourlyCap()
NOTHING = RecipientTraffic()


def due(
    *positions: int,
    members: int = 1,
    late: timedelta = timedelta(),
    precedence: Precedence = Precedence.OPENING,
    is_urgent: bool = False,
) -> list[OpenNotification]:
    at, to = A_MOMENT - late, Recipient("mail", "ops@example.org")
    return [
        OpenNotification(
            *(an_id(each), to, each, at, at, members),
            precedence=precedence,
            kind=kind_of(precedence),
            is_urgent=is_urgent,
        )
        for each in positions
    ]


def kind_of(precedence: Precedence) -> NotificationKind:
    is_reminder = precedence is Precedence.REMINDER
    return NotificationKind.REMINDER if is_reminder else NotificationKind.CHANGE


def changes(*positions: int) -> list[OpenNotification]:
    return due(*positions, precedence=Precedence.CHANGE)


def reminders(*positions: int) -> list[OpenNotification]:
    return due(*positions, precedence=Precedence.REMINDER)


def plan(
    notifications: Sequence[OpenNotification],
    traffic: RecipientTraffic = NOTHING,
    cap: HourlyCap = CAP,
) -> list[list[int]]:
    return [
        [each.int for each in (closing.notification_id, *closing.merged)]
        for closing in plan_closings(notifications, traffic, A_MOMENT, cap)
    ]


def sent_before(
    *minutes: float, precedence: Precedence = Precedence.OPENING, is_urgent: bool = False
) -> RecipientTraffic:
    return RecipientTraffic(
        [Gone(A_MOMENT - MINUTE * each, precedence, is_urgent) for each in minutes]
    )


def changed_before(*minutes: float) -> RecipientTraffic:
    return sent_before(*minutes, precedence=Precedence.CHANGE)


def stuck(waiting: int, minutes: float) -> RecipientTraffic:
    return RecipientTraffic((), waiting, A_MOMENT - MINUTE * minutes)


@pytest.mark.parametrize(
    ("waiting", "traffic", "going"),
    [
        pytest.param(due(1, 2, 3), NOTHING, [[1], [2], [3]], id="few go by themselves"),
        pytest.param(
            due(*range(1, 10)),
            NOTHING,
            [[1], [2], [3], [4], [5], [6, 7, 8, 9]],
            id="the last takes all others with it",
        ),
        pytest.param(
            [*due(1, 2, late=3 * MINUTE), *due(3)], NOTHING, [[1, 2, 3]], id="held up, as one"
        ),
        pytest.param(
            [replace(each, was_held=True) for each in (*due(1), *reminders(2))],
            NOTHING,
            [[1, 2]],
            id="what was held comes as one with its reminders",
        ),
        pytest.param(
            due(1, 2, late=2 * MINUTE), NOTHING, [[1], [2]], id="held up for hardly two minutes"
        ),
        pytest.param(
            [*due(1, late=3 * MINUTE), *due(2)], NOTHING, [[1], [2]], id="only one is held up"
        ),
        pytest.param(due(1, 2), sent_before(*[4] * 5, 0.7), [], id="spaced out"),
        pytest.param(due(1, 2), sent_before(*[4] * 5, 0.8), [[1, 2]], id="a gap later"),
        pytest.param(due(1), sent_before(*range(60, 49, -1), 26), [[1]], id="the last gap is long"),
        pytest.param(due(1), sent_before(*range(59, 48, -1), 25), [], id="not yet after the gap"),
        pytest.param(due(1), sent_before(*range(59, 47, -1)), [], id="twelve within an hour"),
        pytest.param(due(1), sent_before(*[-5] * 12), [[1]], id="what lies ahead does not count"),
        pytest.param(changes(1, 2), NOTHING, [[1, 2]], id="changes are one message"),
        pytest.param(changes(1), changed_before(16), [], id="changes are spaced out"),
        pytest.param(changes(1), changed_before(17), [[1]], id="a change after its gap"),
        pytest.param(changes(1), changed_before(59, 45, 34), [], id="a quarter are changes"),
        pytest.param(due(1), changed_before(3, 2, 1), [[1]], id="changes delay no opening"),
        pytest.param(
            [*changes(1, 2), *due(9)], changed_before(1), [[9]], id="an opening goes before changes"
        ),
        pytest.param(
            changes(1), sent_before(*[1] * 8), [[1]], id="openings delay no change below the cap"
        ),
        pytest.param(
            [*reminders(1), *changes(2)], NOTHING, [[2], [1]], id="a change before a reminder"
        ),
        pytest.param(
            [*reminders(1, 2, 3), *due(4)], NOTHING, [[4], [1, 2, 3]], id="reminders are one"
        ),
        pytest.param(
            reminders(1), sent_before(*[30] * 9), [], id="no reminder in the last quarter"
        ),
        pytest.param(
            reminders(1),
            sent_before(*range(50, 44, -1), precedence=Precedence.REMINDER),
            [],
            id="half of the hour are reminders",
        ),
        pytest.param(reminders(1), changed_before(*[1] * 5), [], id="reminders are spaced out"),
        pytest.param(
            changes(1),
            sent_before(*range(6, 0, -1), precedence=Precedence.REMINDER),
            [[1]],
            id="reminders delay no change",
        ),
        pytest.param(
            [*due(1, 3, is_urgent=True), *due(2)],
            sent_before(*[1] * 12),
            [[1], [3]],
            id="the urgent goes whatever went before",
        ),
        pytest.param(
            due(1, 2, is_urgent=True), sent_before(*[0] * 12, is_urgent=True), [], id="urgent flood"
        ),
        pytest.param(
            due(1, 2, is_urgent=True),
            sent_before(*[1] * 12, is_urgent=True),
            [[1, 2]],
            id="one urgent message a minute",
        ),
        pytest.param(
            due(*range(1, 10), is_urgent=True),
            sent_before(*[1] * 9, is_urgent=True),
            [[1], [2], [3, 4, 5, 6, 7, 8, 9]],
            id="the urgent go one by one below the cap",
        ),
        pytest.param(due(1), stuck(FEW - 1, 0), [[1]], id="few wait to be delivered"),
        pytest.param(due(1), stuck(FEW, 9), [], id="enough wait to be delivered"),
        pytest.param(due(1), stuck(FEW, 10), [[1]], id="one more is tried"),
        pytest.param(due(1), stuck(FEW + 2, 39), [], id="the next trial is later"),
        pytest.param(due(1), stuck(99, 10 * 1024 - 1), [], id="a trial within the longest wait"),
        pytest.param(due(1), stuck(99, 10 * 1024), [[1]], id="a trial after the longest wait"),
        pytest.param(due(1), stuck(FEW, -1), [[1]], id="the clock was set back"),
    ],
)
def test_recipient_gets_now(
    waiting: list[OpenNotification], traffic: RecipientTraffic, going: list[list[int]]
) -> None:
    assert plan(waiting, traffic) == going


def test_reminder_goes_even_if_an_hour_has_one_message() -> None:
    cap = HourlyCap(1)

    assert plan(reminders(1, 2), cap=cap) == [[1, 2]]
    assert plan(reminders(1), sent_before(30), cap) == []
    assert cap.opens_at(sent_before(30), A_MOMENT, Precedence.REMINDER) == A_MOMENT + 30 * MINUTE


def test_digest_goes_by_itself_when_nothing_else_does() -> None:
    digests = [replace(each, kind=NotificationKind.DIGEST) for each in changes(1, 2)]

    assert plan([*digests, *due(3)]) == [[3]]
    assert plan(digests) == [[1]]
    assert plan(digests, sent_before(*range(1, 13))) == []


def test_each_that_waits_is_expected_when_it_will_go() -> None:
    traffic = sent_before(*[0.5] * 6)

    found = expected_at([*due(1, 2), *changes(3), *reminders(4)], traffic, A_MOMENT, CAP)

    waits = {key.int: round((at - A_MOMENT) / MINUTE, 1) for key, at in found.items()}
    assert waits == {1: 0.3, 2: 0.3, 3: 0.0, 4: 0.0}
    twelve = sent_before(*[0] * 12)
    assert expected_at(due(1), twelve, A_MOMENT, HourlyCap(1)) == {an_id(1): A_MOMENT + HOUR}
    assert expected_at(due(1), stuck(FEW, 0), A_MOMENT, CAP) == {}


def test_program_that_groups_by_itself_waits_for_no_cap() -> None:
    cap = HourlyCap(2, uncapped=frozenset({"alertmanager"}))
    of_people, of_program = (cap.of(Recipient(each, each)) for each in ("mail", "alertmanager"))
    spent = sent_before(*[0] * 12)

    assert plan(due(1, 2), spent, of_people) == []
    assert plan(due(1, 2), spent, of_program) == [[1], [2]]
    assert of_program.opens_at(spent, A_MOMENT) == A_MOMENT


@pytest.mark.parametrize(
    ("minutes", "opens_in"),
    [((3,) * 5, 0), ((0,) * 6, 0.8), (tuple(range(59, 47, -1)), 1), ((0,) * 12, 60)],
)
def test_cap_says_until_when(minutes: tuple[int, ...], opens_in: float) -> None:
    opens = CAP.opens_at(sent_before(*minutes), A_MOMENT, Precedence.OPENING)

    assert round((opens - A_MOMENT) / MINUTE, 1) == opens_in


def test_closing_that_is_late_says_why() -> None:
    [late] = due(1, late=3 * MINUTE)
    capped = replace(late, was_capped=True)

    def why(
        each: OpenNotification, traffic: RecipientTraffic = NOTHING, *, is_back: bool = False
    ) -> Delay | None:
        [closing] = plan_closings([each], traffic, A_MOMENT, CAP, is_back=is_back)
        return closing.delay

    assert why(late) is Delay.WORKER
    assert why(late, sent_before(30, 2)) is Delay.WORKER
    assert why(capped) is Delay.CAP
    assert why(capped, is_back=True) is Delay.SERVER
    assert why(late, RecipientTraffic(waiting=1, latest=A_MOMENT)) is Delay.SERVER
    assert why(capped, RecipientTraffic(waiting=1, latest=A_MOMENT)) is Delay.CAP
    assert why(replace(capped, release_at=A_MOMENT)) is None
    assert why(replace(capped, release_at=A_MOMENT - 2 * MINUTE)) is None


def test_cap_passes_over_what_it_lets_not_go() -> None:
    [digest] = [replace(each, kind=NotificationKind.DIGEST) for each in changes(4)]
    waiting = [*due(1), *changes(2), *reminders(3), digest]

    def over(some: list[OpenNotification], traffic: RecipientTraffic) -> list[int]:
        closings = plan_closings(some, traffic, A_MOMENT, CAP)
        found = passed_over(some, closings, traffic, A_MOMENT, CAP)
        return [each.int for each in found]

    assert over(waiting, NOTHING) == []
    assert over(waiting, changed_before(1)) == [2]
    assert over(waiting, sent_before(*[30] * 12)) == [1, 2, 3]
    assert over(due(1, is_urgent=True), sent_before(*[0] * 12, is_urgent=True)) == [1]
    assert over(waiting, stuck(FEW, 0)) == []
    unlike = [
        *due(1, late=3 * MINUTE),
        *(replace(each, is_of_network=True) for each in due(2, late=3 * MINUTE)),
    ]
    assert over(unlike, NOTHING) == []  # it goes in the next round


def test_what_matters_most_goes_first_and_reminders_last() -> None:
    waiting = [
        each
        for number, precedence in enumerate(reversed(Precedence), 1)
        for each in due(number, precedence=precedence)
    ]

    assert plan(waiting) == [[6], [5], [4, 3, 2], [1]]
    assert plan(waiting, changed_before(1)) == [[6], [5], [1]]


def test_change_of_a_network_is_not_hidden_among_rejections() -> None:
    busy = replace(due(9)[0], is_of_network=True)

    assert plan([*due(1, 2, 3), busy], sent_before(*[3] * 5)) == [[9]]
    assert plan([*due(1, 2, 3), busy], sent_before(*[3] * 4)) == [[9], [1, 2, 3]]


def test_end_of_an_incident_waits_for_its_beginning_and_delays_no_other() -> None:
    [over] = due(1, precedence=Precedence.RESOLVED)
    waiting = [
        replace(over, incident_id=an_id(70)),
        replace(due(2)[0], incident_id=an_id(70)),
        *due(3, precedence=Precedence.NETWORK),
    ]

    assert plan(waiting) == [[1], [2]]  # the end counts as a change


def test_a_thousand_urgent_ones_are_twelve_messages() -> None:
    storm = due(*range(1, 1_001), is_urgent=True)

    assert plan(storm) == [*([each] for each in range(1, 12)), [*range(12, 1_001)]]


def test_one_message_names_no_more_than_it_can() -> None:
    cap = HourlyCap(largest_hourly=1, largest_members=10)

    assert plan(due(1, 2, 3, members=5), cap=cap) == [[1, 2]]
    assert plan(due(1, 2, members=15), cap=cap) == [[1]]


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=60),
    st.lists(st.sampled_from([Precedence.OPENING, Precedence.CHANGE]), min_size=60, max_size=60),
    st.integers(1, 30),
)
def test_nobody_gets_more_within_any_hour_than_the_cap_and_everything_goes(
    waits: list[int], kinds: list[Precedence], largest: int
) -> None:
    cap, now, traffic = HourlyCap(largest), A_MOMENT, NOTHING
    gone: dict[Precedence, list[int]] = {Precedence.OPENING: [], Precedence.CHANGE: []}
    waiting: list[OpenNotification] = []
    for number in range(len(waits) + 200):
        now += seconds(waits[number]) if number < len(waits) else 5 * MINUTE
        if number < len(waits):
            [each] = due(number, precedence=kinds[number])
            waiting.append(replace(each, created_at=now, release_at=now))
        for closing in plan_closings(waiting, traffic, now, cap):
            ids = {closing.notification_id, *closing.merged}
            for each in waiting:
                if each.notification_id in ids:
                    gone[each.precedence].append(each.position)
            first = [each for each in waiting if each.notification_id == closing.notification_id]
            waiting = [each for each in waiting if each.notification_id not in ids]
            traffic = traffic.with_gone(first, now)
    assert sorted(gone[Precedence.OPENING] + gone[Precedence.CHANGE]) == list(range(len(waits)))
    assert all(each == sorted(each) for each in gone.values())
    for last in traffic.recent:
        hour = [each for each in traffic.recent if last.at - HOUR < each.at <= last.at]
        many_changes = sum(each.precedence is Precedence.CHANGE for each in hour)
        assert len(hour) <= largest
        assert many_changes <= max(1, largest // 4)


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
        (NotificationKind.HANDED_OVER, "warning", Precedence.OPENING),
        (NotificationKind.RESOLVED, "critical", Precedence.RESOLVED),
        (NotificationKind.ACKNOWLEDGED, "critical", Precedence.CHANGE),
    ],
)
def test_what_is_said_of_an_incident_has_its_place(
    kind: NotificationKind, severity: str, precedence: Precedence
) -> None:
    assert precedence_of_kind(kind, severity) is precedence


def test_what_waited_goes_as_one_mail_with_what_is_said_of_incidents() -> None:
    waited = [replace(each, was_held=True) for each in due(1, 2)]

    assert plan([*reminders(3), *waited]) == [[1, 2, 3]]
    assert plan([*reminders(3), *waited[:1]]) == [[1], [3]]
    assert plan([*reminders(3), *waited], sent_before(*range(1, 13))) == []
