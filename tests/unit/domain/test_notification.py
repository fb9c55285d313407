"""Notifications: when their messages are dated."""

from __future__ import annotations

from tests.builders import A_MOMENT, a_notification, seconds


def test_message_is_dated_by_when_nothing_more_could_join_it() -> None:
    gathering = a_notification(created_at=A_MOMENT)
    closed = a_notification(created_at=A_MOMENT, closed_at=A_MOMENT + seconds(30))

    assert (gathering.dated, closed.dated) == (A_MOMENT, A_MOMENT + seconds(30))
