"""Many notifications that maintenance holds: they are released a few at a time."""

from __future__ import annotations

from sqlalchemy import insert, select

from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.store.alerts.closings import HeldNotification, held_notifications
from dashboard.store.alerts.silences import end_silence
from dashboard.store.schema import notification_incidents
from dashboard.store.schema import notifications as stored
from tests.alert_watch import Watch
from tests.builders import HOUR, an_id, seconds
from tests.recording_channel import ONCALL


def test_many_that_maintenance_holds_are_read_and_released_a_few_at_once(watch: Watch) -> None:
    watch.silence(SilenceKind.MAINTENANCE, 2 * HOUR)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    copy_notification(watch, 119)
    pages = held_in_pages(watch)
    held = {each.notification_id for page in pages for each in page}
    assert (len(held), max(map(len, pages))) == (120, 50)

    with watch.store.write() as connection:
        assert end_silence(connection, SilenceKind.MAINTENANCE, 1, watch.person("Ann"))
    watch.wait(seconds(1))

    assert {to for to, _ in watch.taken()} == {ONCALL}
    assert held_in_pages(watch) == []


def copy_notification(watch: Watch, times: int) -> None:
    """Store the only notification so many times more."""
    with watch.store.write() as connection:
        [row] = connection.execute(select(stored)).mappings()
        [about] = connection.execute(select(notification_incidents)).mappings()
        for number in range(times):
            new = {"notification_id": an_id(1000 + number)}
            connection.execute(insert(stored), {**row, **new, "message_id": f"<{number}@here>"})
            connection.execute(insert(notification_incidents), {**about, **new})


def held_in_pages(watch: Watch) -> list[list[HeldNotification]]:
    """Return what maintenance holds, as the worker reads it."""
    pages: list[list[HeldNotification]] = []
    with watch.store.write() as connection:
        while True:
            after = pages[-1][-1].notification_id if pages else None
            some = held_notifications(connection, watch.clock.now(), after, 50)
            if not some:
                return pages
            pages.append(some)
