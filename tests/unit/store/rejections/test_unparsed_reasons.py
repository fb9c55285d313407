"""Reasons that could not be read are counted, each text for itself."""

from __future__ import annotations

from typing import Final

from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.search import UnparsedReason, unparsed_reasons
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.saved_record import save_record

HOSTILE: Final = "<script>\0\\u0000 =cmd() \u202e"


def reject(store: Store, number: int, reason: str, network_id: NetworkId = A_NETWORK) -> None:
    """Keep a rejection that is first seen `number` seconds after `A_MOMENT`."""
    record = a_record(tx_hash=a_hash(number), reason_message=reason)
    with store.write() as connection:
        save_record(connection, network_id, record, A_MOMENT + seconds(number))


def test_unknown_texts_are_counted_the_commonest_first(store: Store) -> None:
    texts = ["rare", HOSTILE, HOSTILE, "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", "late"]
    for number, reason in enumerate(texts, start=1):
        reject(store, number, reason, ANOTHER_NETWORK if reason == "late" else A_NETWORK)

    commonest = UnparsedReason(HOSTILE, 2, A_MOMENT + seconds(2), A_MOMENT + seconds(3))
    rare = UnparsedReason("rare", 1, A_MOMENT + seconds(1), A_MOMENT + seconds(1))
    with store.read() as connection:
        assert unparsed_reasons(connection, 5, A_NETWORK) == [commonest, rare]
        assert [each.text for each in unparsed_reasons(connection, 2)] == [HOSTILE, "late"]
