"""Notifications are found by what people know of them, the latest first."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.search import HashRange
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.incidents import all_open_incidents
from dashboard.store.alerts.notification_claims import mark_sent
from dashboard.store.alerts.notification_search import (
    NotificationFilter,
    count_notifications,
    search_notifications,
)
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, an_address, seconds
from tests.delivery_checks import make_pending
from tests.one_by_one import recent_notifications


@pytest.fixture
def store(store: Store) -> Store:
    """Make three pending: that of `a_hash(1)` is of a labelled hash, that of `a_hash(2)` sent."""
    make_pending(store, count=3)
    with store.write() as connection:
        for notification in recent_notifications(connection, 10):
            if notification.transition.subject.tx_hash == a_hash(2):
                mark_sent(connection, notification.notification_id, "250 ok", A_MOMENT + seconds(1))
        track(
            connection, TrackRequest(a_hash(1), (A_NETWORK,), Remarks(label="Case 1742")), A_MOMENT
        )
    return store


ANY = NotificationFilter()
FOUND: tuple[tuple[NotificationFilter, set[int]], ...] = (
    (ANY, {1, 2, 3}),
    (NotificationFilter(network_id=A_NETWORK), {1, 2, 3}),
    (NotificationFilter(network_id=ANOTHER_NETWORK), set()),
    (NotificationFilter(network_id=NetworkId(A_NETWORK + 1)), set()),
    (NotificationFilter(state=NotificationState.PENDING), {1, 3}),
    (NotificationFilter(state=NotificationState.SENT), {2}),
    (NotificationFilter(after=State.REJECTED), {1, 2, 3}),
    (NotificationFilter(after=State.UNREPORTED), set()),
    (NotificationFilter(after=State.BUSY), set()),
    (NotificationFilter(tx_hashes=HashRange.of(a_hash(3))), {3}),
    (NotificationFilter(beginning=HashRange.parse(f"{str(an_address())[:10]}…")), {1, 2, 3}),
    (NotificationFilter(beginning=HashRange.parse("0xbeef")), set()),
    (NotificationFilter(search="ONCALL@"), {1, 2, 3}),
    (NotificationFilter(search="example.org"), {1, 2, 3}),
    (NotificationFilter(search="%"), set()),
    (NotificationFilter(search="nobody@"), set()),
    (NotificationFilter(search="250 OK"), {2}),
    (NotificationFilter(search="Rejected"), {1, 2, 3}),
    (NotificationFilter(search="prover module"), {1, 2, 3}),
    (NotificationFilter(search="00000000…000003"), {3}),
    (NotificationFilter(search="case 17"), {1}),
    (NotificationFilter(search="no such words"), set()),
    (NotificationFilter(since=A_MOMENT - seconds(1)), {1, 2, 3}),
    (NotificationFilter(since=A_MOMENT), {1, 2, 3}),
    (NotificationFilter(since=A_MOMENT + seconds(1)), set()),
    (NotificationFilter(until=A_MOMENT + seconds(1)), {1, 2, 3}),
    (NotificationFilter(until=A_MOMENT), {1, 2, 3}),
    (NotificationFilter(until=A_MOMENT - seconds(1)), set()),
)


def test_search_finds_the_notifications_that_fit(store: Store) -> None:
    with store.read() as connection:
        for wanted, numbers in FOUND:
            found = search_notifications(connection, wanted)
            hashes = {each.transition.subject.tx_hash for each in found}
            assert hashes == {a_hash(number) for number in numbers}, wanted
            assert count_notifications(connection, wanted) == len(numbers), wanted
        ids = [each.notification_id for each in search_notifications(connection, ANY)]
        assert [
            each.notification_id for each in search_notifications(connection, ANY, 2, 1)
        ] == ids[1:]
        for number in range(3):
            last = (A_MOMENT, ids[number])  # all three were made in one moment
            rest = search_notifications(connection, ANY, before=last)
            assert [each.notification_id for each in rest] == ids[number + 1 :]


def test_notification_is_found_by_its_id_its_message_and_its_incident(store: Store) -> None:
    with store.read() as connection:
        every = search_notifications(connection, ANY)
        by_id, by_message = (
            [search_notifications(connection, NotificationFilter(search=text)) for text in texts]
            for texts in (
                [f"error of {each.notification_id}" for each in every],
                [each.message_id for each in every],
            )
        )
        by_incident = [
            found
            for each in all_open_incidents(connection, 9)
            for found in search_notifications(
                connection, NotificationFilter(incident_id=each.incident_id)
            )
        ]

    assert by_id == by_message == [[each] for each in every]
    assert sorted(each.notification_id for each in by_incident) == sorted(
        each.notification_id for each in every
    )
