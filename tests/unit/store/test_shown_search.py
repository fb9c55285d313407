"""What pages show of a rejection finds it: words of a reason, stage, a part of a label or hash."""

from __future__ import annotations

from typing import Final

import pytest

from dashboard.domain.formatting import short_hash
from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import in_brief, name_of, parse_reason
from dashboard.domain.rejections.search import HashRange, RejectionFilter, parse_search
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.show.parts.rejection_table import reason_words
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.counts import count_rejections
from dashboard.store.rejections.search import search
from dashboard.store.tracking.search import TrackedFilter, count_tracked, search_tracked
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_record, seconds
from tests.saved_record import save_record

A_SENDER: Final = Address.parse("0xbeef" + "0" * 35 + "1")
LABEL: Final = "Case 1742 of Zürich"
REASONS: Final = (
    "Transaction line count for module HUB=2402 is above the limit 70",
    "Transaction line count for module MODEXP=6 is above the limit 0",
    "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)",
    "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED",
    "Module FOO does not exist in the limits file.",
    "Internal Error: do not know what to do with result: INVALID_LINE_COUNT",
    "Gas price too low",
    f"sender 0x{'cd' * 20} is blocked as appearing on the SDN or other legally prohibited list",
    "Invalid transaction: nonce",
    "BLOCK_CALLDATA_OVERFLOW",
    "a text that nobody knows",
)


def a_mark(number: int) -> TxHash:
    """Return a hash that begins and ends with its number, unlike every other."""
    return TxHash(bytes([0xA0 + number % 0x60]) * 32)


@pytest.fixture
def store(store: Store) -> Store:
    """Hold a rejection for each reason; the second is of the sequencer, the third tracked."""
    with store.write() as connection:
        track(connection, TrackRequest(a_mark(2), (A_NETWORK,), Remarks(label=LABEL)), A_MOMENT)
        track(
            connection, TrackRequest(a_mark(60), (A_NETWORK,), Remarks(label="another")), A_MOMENT
        )
        for number, reason in enumerate(REASONS):
            stage = RejectionStage.SEQUENCER if number == 1 else RejectionStage.RPC
            record = a_record(
                tx_hash=a_mark(number), reason_message=reason, tx_rejection_stage=stage
            )
            save_record(connection, A_NETWORK, record, A_MOMENT + seconds(number))
    return store


def test_reason_is_found_by_the_sentence_that_pages_show(store: Store) -> None:
    for number, text in enumerate(REASONS):
        reason = parse_reason(text)
        named = name_of((reason.kind, reason.module))
        for shown in (reason_words(reason), named, in_brief(reason), text):
            assert number in found_by(store, shown), shown


WORDS: Final[dict[str, set[int]]] = {
    "2,402 lines": {0},
    "SEQUENCER": {1},
    "hub rpc": {0},
    "hub sequencer": set(),
    "lower fee": {6},
    "network's operator": {7},
    "lines not counted": {5},
    "one block may hold": {3},
    "1742": {2},
    "zürich": {2},
    "case 1743": set(),
    "label: nothing": set(),
    "%": set(),
    a_mark(2).hex()[:8]: {2},
    a_mark(2).hex()[:8].upper(): {2},
    "… × .": set(),
}


def test_words_of_a_page_find_what_shows_them(store: Store) -> None:
    assert {text: found_by(store, text) for text in WORDS} == WORDS
    with store.read() as connection:
        counts = {
            text: count_rejections(connection, RejectionFilter(search=text)) for text in WORDS
        }
    assert counts == {text: len(found) for text, found in WORDS.items()}


def test_hash_is_found_as_pages_and_explorers_show_it(store: Store) -> None:
    mark = a_mark(4)
    for text in (short_hash(mark), f"https://explorer.example/tx/{mark}?a=1", str(mark)):
        with store.read() as connection:
            found = search(connection, RejectionFilter(beginning=parse_search(text).named))

        assert [each.record.tx_hash for each in found] == [mark], text


def test_hash_that_begins_alike_and_ends_otherwise_is_not_found(store: Store) -> None:
    shown = f"{str(a_mark(4))[:10]}…{'00' * 3}"
    with store.read() as connection:
        assert search(connection, RejectionFilter(tx_hashes=HashRange.parse(shown))) == []


SENDERS: Final[dict[str, list[TxHash]]] = {
    "0xbeef": [a_mark(70)],
    "0xbeef0000…000001": [a_mark(70)],
    str(A_SENDER): [a_mark(70)],
    "0xbeef0000…000002": [],
    "0xbeee": [],
}


def test_start_of_a_sender_finds_its_transactions(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_mark(70), (A_NETWORK,)), A_MOMENT)
        record = a_record(tx_hash=a_mark(70), sender=A_SENDER)
        save_record(connection, A_NETWORK, record, A_MOMENT)
    for text, found in SENDERS.items():
        named = parse_search(text).named
        rejected, tracked = RejectionFilter(beginning=named), TrackedFilter(tx_hashes=named)
        with store.read() as connection:
            assert [each.record.tx_hash for each in search(connection, rejected)] == found, text
            assert [each.tx_hash for each in search_tracked(connection, tracked, 10)] == found, text
            assert count_rejections(connection, rejected) == len(found), text
            assert count_tracked(connection, tracked) == len(found), text


TRACKED: Final[dict[str, list[TxHash]]] = {
    "module ADD": [a_mark(2)],
    "1742": [a_mark(2)],
    a_mark(2).hex()[:8]: [a_mark(2)],
    a_mark(60).hex()[:8]: [a_mark(60)],
    "HUB": [],
}


def test_tracked_is_found_by_what_is_shown_of_its_rejection(store: Store) -> None:
    for text, found in TRACKED.items():
        wanted = TrackedFilter(search=text)
        with store.read() as connection:
            hashes = [each.tx_hash for each in search_tracked(connection, wanted, 10)]
            assert (hashes, count_tracked(connection, wanted)) == (found, len(found)), text


def found_by(store: Store, text: str) -> set[int]:
    """Return the numbers of the rejections that a search finds."""
    with store.read() as connection:
        found = search(connection, RejectionFilter(search=text))
    hashes = [a_mark(number) for number in range(len(REASONS))]
    return {hashes.index(each.record.tx_hash) for each in found}
