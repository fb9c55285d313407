"""Records of many hashes at once are those of each by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.archive import queryable_record
from dashboard.store.rejections.known_hashes import RejectionReader, TooManyVersions
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.saved_record import save_record


@pytest.fixture
def reader(store: Store) -> Iterator[RejectionReader]:
    reader = RejectionReader(store)
    yield reader
    reader.close()


def keep(store: Store, tx_hash: TxHash, *reasons: str, age: float = 0) -> None:
    with store.write() as connection:
        for place, reason in enumerate(reasons):
            at = A_MOMENT - seconds(age) + seconds(place % 2)
            record = a_record(tx_hash=tx_hash, timestamp=at, reason_message=reason)
            network = ANOTHER_NETWORK if reason == "elsewhere" else A_NETWORK
            save_record(connection, network, record, A_MOMENT)


def test_records_of_many_hashes_are_those_of_each(store: Store, reader: RejectionReader) -> None:
    keep(store, a_hash(1), "first", "second", "third", "elsewhere")
    keep(store, a_hash(2), "elsewhere")
    keep(store, a_hash(3), "old", age=QUERYABLE_WINDOW.total_seconds() + 1)
    keep(store, a_hash(4), "\\ \0 é")
    keep(store, a_hash(6), "dated ahead", "and later", age=-86_400)
    keep(store, a_hash(6), "dated rightly", age=60)
    keep(store, a_hash(7), "dated ahead alone", age=-86_400)
    hashes = [a_hash(number) for number in (1, 2, 3, 4, 5, 1, 6, 7)]

    found = reader.queryable_records((A_NETWORK,), hashes, A_MOMENT)

    with store.read() as connection:
        each = {one: queryable_record(connection, (A_NETWORK,), one, A_MOMENT) for one in hashes}
    assert found == {one: record for one, record in each.items() if record is not None}
    assert set(found) == {a_hash(1), a_hash(4), a_hash(6), a_hash(7)}
    assert found[a_hash(6)].reason_message == "dated rightly"
    later = A_MOMENT + QUERYABLE_WINDOW + seconds(1)
    assert set(reader.queryable_records((A_NETWORK,), [a_hash(7)], later)) == set()


def test_too_many_versions_are_not_compared_here(store: Store, reader: RejectionReader) -> None:
    keep(store, a_hash(1), *(f"reason {number}" for number in range(100)))

    with pytest.raises(TooManyVersions):
        reader.queryable_records((A_NETWORK,), [a_hash(1)], A_MOMENT)
    with pytest.raises(TooManyVersions):
        reader.queryable_record((A_NETWORK,), a_hash(1), A_MOMENT)
