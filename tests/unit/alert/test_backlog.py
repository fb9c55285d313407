"""Claimed notices in memory."""

from __future__ import annotations

from dataclasses import replace

from dashboard.alert.backlog import Backlog
from dashboard.alert.routing import recipients_of
from dashboard.domain.condition import State
from dashboard.domain.notice import Notice, Recipient
from tests.builders import A_MOMENT, a_notice, a_transition, an_id, seconds
from tests.letters import ONCALL, OTHERS


def owed(number: int, recipient: Recipient = ONCALL) -> Notice:
    return a_notice(notice_id=an_id(number), recipient=recipient)


def a_backlog(*notices: Notice) -> Backlog:
    backlog = Backlog()
    backlog.add(notices)
    return backlog


def test_one_notice_at_a_time_travels_to_an_address() -> None:
    backlog = a_backlog(owed(1), owed(2), owed(3, OTHERS))

    assert backlog.start() == [owed(1), owed(3, OTHERS)]
    assert backlog.start() == []


def test_next_notice_travels_when_the_one_before_has_arrived() -> None:
    backlog = a_backlog(owed(1), owed(2))
    backlog.start()

    backlog.finish(owed(1))

    assert backlog.start() == [owed(2)]


def test_letter_that_was_tried_least_travels_first() -> None:
    tried = replace(owed(1), attempts=1)
    younger = replace(owed(3), created_at=A_MOMENT + seconds(1))

    backlog = a_backlog(tried, younger, owed(2))

    assert backlog.start() == [owed(2)]
    assert backlog.take_waiting(ONCALL) == [younger, tried]


def test_backlog_counts_what_waits_and_what_travels() -> None:
    backlog = a_backlog(owed(1), owed(2))
    backlog.start()

    assert len(backlog) == 2


def test_notice_that_arrived_does_not_travel_again_where_it_waits_too() -> None:
    backlog = a_backlog(owed(1))
    backlog.start()
    backlog.add([owed(1)])

    backlog.finish(owed(1))

    assert backlog.start() == []


def test_what_waits_for_an_address_can_be_taken_out() -> None:
    backlog = a_backlog(owed(1), owed(2), owed(3, OTHERS))

    assert backlog.take_waiting(ONCALL) == [owed(1), owed(2)]
    assert len(backlog) == 1


def test_forgetting_leaves_what_travels() -> None:
    backlog = a_backlog(owed(1), owed(2))
    backlog.start()

    backlog.forget_waiting()

    assert backlog.is_under_way
    assert len(backlog) == 1


def test_everyone_is_told_of_a_rejection() -> None:
    assert recipients_of(a_transition(after=State.REJECTED), [ONCALL, OTHERS]) == [ONCALL, OTHERS]


def test_nobody_is_told_that_a_transaction_is_not_reported() -> None:
    assert list(recipients_of(a_transition(after=State.UNREPORTED), [ONCALL])) == []
