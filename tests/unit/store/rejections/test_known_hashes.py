"""Known hashes: what any process has committed is known at the very next question."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.quantity import TxHash
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.rejections.archive import queryable_record
from dashboard.store.rejections.known_hashes import (
    KnownHashes,
    RejectionReader,
    head_of,
    load_heads,
)
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.databases import new_store
from tests.saved_record import save_record
from tests.waiting import PATIENCE

INTERLEAVINGS = 100


def a_hash_of(number: int) -> TxHash:
    """Return a hash whose head differs with its number."""
    return TxHash(number.to_bytes(4, "little") + bytes(28))


def keep(store: Store, *numbers: int) -> None:
    with store.write() as connection:
        for number in numbers:
            save_record(connection, A_NETWORK, a_record(tx_hash=a_hash_of(number)), A_MOMENT)


def knows(known: KnownHashes, number: int) -> bool:
    assert known.is_current()
    return bool(known.among([number]))


@pytest.fixture
def reader(store: Store) -> Iterator[RejectionReader]:
    reader = RejectionReader(store)
    yield reader
    reader.close()


def test_nothing_is_current_before_it_is_loaded(reader: RejectionReader) -> None:
    assert not KnownHashes(reader).is_current()


def test_what_is_rolled_back_is_not_taken_for_known(store: Store, reader: RejectionReader) -> None:
    known = KnownHashes(reader)
    known.adopt(load_heads(store))

    with pytest.raises(OverflowError):
        keep(store, 1, 2**32)
    keep(store, 2)

    assert (knows(known, 1), knows(known, 2)) == (False, True)


def test_many_arrivals_are_taken_in_over_several_questions(
    store: Store, reader: RejectionReader
) -> None:
    known = KnownHashes(reader, at_once=3)
    known.adopt(load_heads(store))
    keep(store, 1, 2, 3, 4)

    assert not known.is_current()
    assert knows(known, 4)


def test_archive_is_loaded_in_portions_until_nothing_is_left(
    store: Store, reader: RejectionReader
) -> None:
    keep(store, 1, 2, 3, 4, 5, 6)

    loaded = load_heads(store, at_once=2)

    assert (loaded.heads, loaded.newest) == ({1, 2, 3, 4, 5, 6}, reader.arrivals(0, 9)[-1][0])


def test_head_is_the_first_four_bytes_from_the_least() -> None:
    assert head_of(bytes([1, 2, 3, 4, 5])) == 0x04030201


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["save", "ask", "load"]), st.integers(0, 5))))
def test_known_hashes_agree_with_a_plain_set(steps: list[tuple[str, int]]) -> None:
    with (
        TemporaryDirectory() as folder,
        new_store("sqlite", Path(folder)) as url,
        open_store(url) as store,
        open_store(url) as other,
    ):
        reader = RejectionReader(store)
        known, model = KnownHashes(reader), set[int]()
        known.adopt(load_heads(store))
        for step, number in steps:
            if step == "save":
                keep(other, number)
                model.add(number)
            elif step == "load":
                known.adopt(load_heads(store))
            else:
                assert knows(known, number) == (number in model)
        reader.close()


def save_on_demand(url: str, orders: Connection) -> None:
    """Save what is ordered, and acknowledge it when it is committed; in a process of its own."""
    with open_store(url) as store:
        while (number := orders.recv()) is not None:
            keep(store, number)
            orders.send(number)


def test_report_of_another_process_is_seen_by_the_very_next_question(
    url: str, store: Store, reader: RejectionReader
) -> None:
    known = KnownHashes(reader)
    known.adopt(load_heads(store))
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=save_on_demand, args=(url, theirs))
    other.start()
    missed = []
    for number in range(INTERLEAVINGS):
        assert not knows(known, number)
        ours.send(number)
        ours.recv()
        if not knows(known, number):
            missed.append(number)
    ours.send(None)
    other.join(PATIENCE)

    assert missed == []
    assert other.exitcode == 0


def test_visible_record_is_the_one_that_the_store_tells(
    store: Store, reader: RejectionReader
) -> None:
    with store.write() as connection:
        for age in (0, 1, 1, 9):
            record = a_record(timestamp=A_MOMENT - seconds(age), nonce=2**64 - 2 - age)
            save_record(connection, A_NETWORK, record, A_MOMENT)
        save_record(connection, ANOTHER_NETWORK, a_record(reason_message="\\ \0"), A_MOMENT)

    week = 7 * 86_400
    for networks in ((), (A_NETWORK,), (ANOTHER_NETWORK, A_NETWORK)):
        for now in (A_MOMENT + seconds(after) for after in (0, week, week + 1)):
            with store.read() as connection:
                told = queryable_record(connection, networks, a_hash(), now)
            assert reader.queryable_record(networks, a_hash(), now) == told, (networks, now)
