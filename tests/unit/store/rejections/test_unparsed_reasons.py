"""Reasons that could not be read are counted, each text for itself."""

from __future__ import annotations

from typing import Final

from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import save_polled
from dashboard.store.rejections.unparsed_reasons import UnparsedReason, unparsed_reasons
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds

HOSTILE: Final = "<script>\0\\u0000 =cmd() \u202e"


def reject(store: Store, number: int, reason: str, network_id: NetworkId = A_NETWORK) -> None:
    """Keep a rejection that is first seen `number` seconds after `A_MOMENT`."""
    record = a_record(tx_hash=a_hash(number), reason_message=reason)
    with store.write() as connection:
        save_polled(connection, network_id, record, A_MOMENT + seconds(number))


def test_unknown_texts_are_counted_the_commonest_first(store: Store) -> None:
    for number, reason in enumerate(["rare", HOSTILE, HOSTILE], start=1):
        reject(store, number, reason)

    with store.read() as connection:
        found = unparsed_reasons(connection, 5)

    assert found == [
        UnparsedReason(HOSTILE, 2, A_MOMENT + seconds(2), A_MOMENT + seconds(3)),
        UnparsedReason("rare", 1, A_MOMENT + seconds(1), A_MOMENT + seconds(1)),
    ]


def test_known_reasons_are_not_among_them(store: Store) -> None:
    reject(store, 1, "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)")

    with store.read() as connection:
        assert unparsed_reasons(connection, 5) == []


def test_unknown_texts_of_one_network_can_be_asked_for(store: Store) -> None:
    reject(store, 1, "here")
    reject(store, 2, "there", ANOTHER_NETWORK)

    with store.read() as connection:
        assert [each.text for each in unparsed_reasons(connection, 5, A_NETWORK)] == ["here"]


def test_only_so_many_texts_are_returned(store: Store) -> None:
    for number in range(1, 5):
        reject(store, number, f"text {number}")

    with store.read() as connection:
        assert [each.text for each in unparsed_reasons(connection, 2)] == ["text 4", "text 3"]
