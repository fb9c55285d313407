"""Watched senders are kept per network, once, with the label that was given last."""

from __future__ import annotations

from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.senders import (
    WatchedSender,
    labels_of_watched,
    senders_watched,
    unwatch_sender,
    watch_sender,
)
from tests.builders import A_MOMENT, A_NETWORK, an_address, seconds

OTHER = NetworkId(5)


def watch(store: Store, wish: WatchedSender) -> bool:
    with store.write() as connection:
        return watch_sender(connection, wish)


def watched(store: Store) -> list[WatchedSender]:
    with store.read() as connection:
        return senders_watched(connection)


def test_sender_is_new_the_first_time_only(store: Store) -> None:
    wish = WatchedSender(an_address(1), (A_NETWORK,), A_MOMENT, "bot")

    assert watch(store, wish)
    assert not watch(store, wish)
    assert watched(store) == [wish]


def test_further_network_is_new_and_keeps_the_label(store: Store) -> None:
    watch(store, WatchedSender(an_address(1), (A_NETWORK,), A_MOMENT, "bot"))

    assert watch(store, WatchedSender(an_address(1), (A_NETWORK, OTHER), A_MOMENT + seconds(9)))
    ids = tuple(sorted((A_NETWORK, OTHER)))
    assert watched(store) == [WatchedSender(an_address(1), ids, A_MOMENT, "bot")]


def test_label_that_is_given_later_takes_the_place_of_the_first(store: Store) -> None:
    watch(store, WatchedSender(an_address(1), (A_NETWORK,), A_MOMENT, "bot"))

    watch(store, WatchedSender(an_address(1), (A_NETWORK,), A_MOMENT, "payout bot"))

    assert [each.label for each in watched(store)] == ["payout bot"]


def test_senders_come_latest_first(store: Store) -> None:
    for number in (1, 2):
        wish = WatchedSender(an_address(number), (A_NETWORK,), A_MOMENT + seconds(number))
        watch(store, wish)

    assert [each.sender for each in watched(store)] == [an_address(2), an_address(1)]


def test_unwatched_sender_is_gone_and_the_others_stay(store: Store) -> None:
    for number in (1, 2):
        watch(store, WatchedSender(an_address(number), (A_NETWORK,), A_MOMENT))

    with store.write() as connection:
        assert unwatch_sender(connection, an_address(1))
        assert not unwatch_sender(connection, an_address(1))
    assert [each.sender for each in watched(store)] == [an_address(2)]


def test_labels_are_those_of_the_network_that_is_asked_for(store: Store) -> None:
    watch(store, WatchedSender(an_address(1), (A_NETWORK,), A_MOMENT, "bot"))
    asked = [(an_address(1), A_NETWORK), (an_address(1), OTHER), (an_address(2), A_NETWORK)]

    with store.read() as connection:
        assert labels_of_watched(connection, asked) == {(an_address(1), A_NETWORK): "bot"}
