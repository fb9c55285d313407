"""Notices are found by what people know of them, the latest first."""

from __future__ import annotations

import pytest

from dashboard.domain.condition import State
from dashboard.domain.notification import NoticeState
from dashboard.domain.rejection_filter import HashRange
from dashboard.store.alerts.notification_search import NoticeFilter, search_notices
from dashboard.store.alerts.outbox import mark_sent, recent_notices
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import TrackRequest, track
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, an_address, seconds
from tests.unit.store.pending_notifications import owe


@pytest.fixture
def store(store: Store) -> Store:
    """Owe three notices: that of `a_hash(1)` is of a labelled hash, that of `a_hash(2)` sent."""
    owe(store, count=3)
    with store.write() as connection:
        for notice in recent_notices(connection, 10):
            if notice.transition.subject.tx_hash == a_hash(2):
                mark_sent(connection, notice.notice_id, "250 ok", A_MOMENT + seconds(1))
        track(connection, TrackRequest(a_hash(1), (A_NETWORK,), None, "Case 1742"), A_MOMENT)
    return store


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (NoticeFilter(), {1, 2, 3}),
        (NoticeFilter(network_id=A_NETWORK), {1, 2, 3}),
        (NoticeFilter(network_id=ANOTHER_NETWORK), set()),
        (NoticeFilter(state=NoticeState.OWED), {1, 3}),
        (NoticeFilter(state=NoticeState.SENT), {2}),
        (NoticeFilter(after=State.REJECTED), {1, 2, 3}),
        (NoticeFilter(after=State.UNREPORTED), set()),
        (NoticeFilter(tx_hashes=HashRange.of(a_hash(3))), {3}),
        (NoticeFilter(beginning=HashRange.parse(f"{str(an_address())[:10]}…")), {1, 2, 3}),
        (NoticeFilter(beginning=HashRange.parse("0xbeef")), set()),
        (NoticeFilter(search="OPS@"), {1, 2, 3}),
        (NoticeFilter(search="nobody@"), set()),
        (NoticeFilter(search="250 OK"), {2}),
        (NoticeFilter(search="Rejected"), {1, 2, 3}),
        (NoticeFilter(search="prover module"), {1, 2, 3}),
        (NoticeFilter(search="00000000…000003"), {3}),
        (NoticeFilter(search="case 17"), {1}),
        (NoticeFilter(search="no such words"), set()),
        (NoticeFilter(since=A_MOMENT), {1, 2, 3}),
        (NoticeFilter(since=A_MOMENT + seconds(1)), set()),
        (NoticeFilter(until=A_MOMENT), {1, 2, 3}),
        (NoticeFilter(until=A_MOMENT - seconds(1)), set()),
    ],
)
def test_search_finds_the_notices_that_fit(
    store: Store, wanted: NoticeFilter, found: set[int]
) -> None:
    with store.read() as connection:
        hashes = {each.transition.subject.tx_hash for each in search_notices(connection, wanted)}

    assert hashes == {a_hash(number) for number in found}


def test_search_returns_no_more_notices_than_asked_for(store: Store) -> None:
    with store.read() as connection:
        assert len(search_notices(connection, NoticeFilter(), limit=2)) == 2
