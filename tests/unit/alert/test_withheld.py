"""What is silenced reaches nobody, what maintenance holds waits, and both say why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from dashboard.alert.notify import expand_outbox
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Notification, NotificationState, Recipient
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, WeekSpan
from dashboard.domain.people.recipients import AddressOff, OffCause
from dashboard.store.alerts.recipients import list_addresses_off, turn_off, turn_on
from dashboard.store.alerts.release import resend
from dashboard.store.alerts.silences import add_silence
from dashboard.store.engine.engine import Store
from dashboard.store.schema import notification_members
from tests.builders import A_MOMENT, an_id, seconds
from tests.delivery_checks import notifications, reject
from tests.recording_channel import ONCALL

HOUR = timedelta(hours=1)
ADA = Actor("ada", A_MOMENT)
DEV = Recipient("mail", "dev@example.org")
ADD = Matcher(MatchedProperty.MODULE, "ADD")
FRIDAYS = WeeklyHours(ActiveHours((WeekSpan.parse("fri 11:00-13:00"),)), ZoneInfo("UTC"))
"""A_MOMENT is noon on a Friday."""


@pytest.fixture
def expand(store: Store) -> Callable[..., list[Notification]]:
    """Return what expands the outbox at a moment and returns all notifications."""

    def run(at: datetime = A_MOMENT) -> list[Notification]:
        while expand_outbox(store, [ONCALL, DEV], lambda: at):
            pass
        return notifications(store)

    return run


def make(store: Store, kind: SilenceKind, *matchers: Matcher, **changes: Any) -> Silence:  # noqa: ANN401 - any field of the wish
    """Store a silence or a window of an hour."""
    wish = SilenceRequest(an_id(7), kind, matchers, A_MOMENT, A_MOMENT + HOUR, "known")
    wish = replace(wish, **changes)
    with store.write() as connection:
        made, _ = add_silence(connection, wish, ADA)
    return made


def reasons(store: Store) -> set[tuple[str, str]]:
    """Return why whom nobody notified."""
    column = notification_members.c
    query = select(column.address, column.reason).where(column.notification_id.is_(None))
    with store.read() as connection:
        return {tuple(row) for row in connection.execute(query)}


def test_silenced_change_reaches_nobody_and_says_which_silence(
    store: Store, expand: Callable[..., list[Notification]]
) -> None:
    make(store, SilenceKind.SILENCE, ADD)
    reject(store, 1)

    assert expand() == []
    why = "silenced until 2026-11-20 13:00:00 UTC by ada: known (silence 1)"
    assert reasons(store) == {(ONCALL.address, why), (DEV.address, why)}


@pytest.mark.parametrize(("module", "hours"), [("HUB", 0), ("ADD", 1)])
def test_change_beside_a_silence_or_after_it_reaches_everybody(
    store: Store, expand: Callable[..., list[Notification]], module: str, hours: int
) -> None:
    make(store, SilenceKind.SILENCE, Matcher(MatchedProperty.MODULE, module))
    reject(store, 1)

    assert len(expand(A_MOMENT + hours * HOUR)) == 2
    assert reasons(store) == set()


def test_maintenance_holds_until_it_ends_and_gathers_meanwhile(
    store: Store, expand: Callable[..., list[Notification]]
) -> None:
    make(store, SilenceKind.MAINTENANCE, ADD)
    reject(store, 1)
    expand()
    reject(store, 2)
    reject(store, 3)

    held = expand(A_MOMENT + seconds(60))

    assert {(each.member_count, each.release_at) for each in held} == {(3, A_MOMENT + HOUR)}
    assert len(held) == 2


def test_address_that_is_off_gets_nothing_and_what_was_pending_dies(
    store: Store, expand: Callable[..., list[Notification]]
) -> None:
    reject(store, 1)
    expand()
    off = AddressOff(DEV, OffCause.UNSUBSCRIBED, A_MOMENT, "dev \0", "by link")
    with store.write() as connection:
        assert turn_off(connection, off)
        assert not turn_off(connection, off)
    reject(store, 2)

    found = expand(A_MOMENT + HOUR)

    to_dev = [each for each in found if each.recipient == DEV]
    assert [(each.state, each.outcome) for each in to_dev] == [
        (NotificationState.DEAD, "not sent: unsubscribed")
    ]
    why = "this address is off since 2026-11-20 12:00:00 UTC: unsubscribed"
    assert reasons(store) == {(DEV.address, why)}
    with store.write() as connection:
        assert list_addresses_off(connection) == [off]
        assert resend(connection, DEV.address, A_MOMENT) == 0
        assert turn_on(connection, DEV)
        assert not turn_on(connection, DEV)
        assert resend(connection, DEV.address, A_MOMENT) == 1
