"""Notifications: when their messages are dated, and which gather."""

from __future__ import annotations

from tests.builders import A_MOMENT, a_notification, seconds


def test_message_is_dated_by_when_nothing_more_could_join_it() -> None:
    gathering = a_notification(created_at=A_MOMENT)
    closed = a_notification(created_at=A_MOMENT, closed_at=A_MOMENT + seconds(30))

    assert (gathering.dated, closed.dated) == (A_MOMENT, A_MOMENT + seconds(30))


def test_notification_of_several_transitions_is_gathered() -> None:
    assert [a_notification(member_count=each).is_gathered for each in (1, 2)] == [False, True]
