"""Transactions are durable, readers wait for nobody, and trouble is told with its remedy."""

from __future__ import annotations

import threading
from traceback import format_exception

import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import InputError, StoreError, StoreUnavailable
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.rejections.search import search
from dashboard.store.tracking.transactions import track, tracked_among
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_report, seconds
from tests.one_by_one import save_report, versions
from tests.waiting import PATIENCE

A_WISH = TrackRequest(a_hash(), (A_NETWORK,))


def test_reader_cannot_write_by_mistake(store: Store) -> None:
    with pytest.raises(StoreError, match=r"read.?only"), store.read() as connection:
        track(connection, A_WISH, A_MOMENT)


def test_reader_does_not_wait_for_a_writer_and_sees_none_of_it(store: Store) -> None:
    with store.write() as writing:
        track(writing, A_WISH, A_MOMENT)
        with store.read() as reading:
            assert not tracked_among(reading, [a_hash()])

    with store.read() as reading:
        assert tracked_among(reading, [a_hash()])


def test_reader_sees_one_moment_however_long_it_reads(store: Store) -> None:
    with store.read() as reading:
        assert not tracked_among(reading, [a_hash()])
        with store.write() as writing:
            track(writing, A_WISH, A_MOMENT)
        assert not tracked_among(reading, [a_hash()])


@pytest.mark.parametrize("number", [2**63, -(10**22)])
def test_number_that_no_column_holds_is_refused(store: Store, number: int) -> None:
    wanted = RejectionFilter(network_id=NetworkId(number))

    with (
        pytest.raises(InputError, match=f"'{number}' has more than 64 bits"),
        store.read() as connection,
    ):
        search(connection, wanted, 1)


def test_error_inside_undoes_the_whole_transaction(store: Store) -> None:
    def fail_half_way() -> None:
        with store.write() as connection:
            save_report(connection, a_report(), A_NETWORK, A_MOMENT)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()

    with store.read() as connection:
        assert versions(connection, a_hash()) == []


def test_writer_that_reads_first_is_never_overtaken(url: str, store: Store) -> None:
    ready, overtaken = threading.Event(), threading.Event()

    def overtake() -> None:
        with open_store(url) as other:
            ready.set()
            with other.write() as connection:
                track(connection, TrackRequest(a_hash(2), (A_NETWORK,)), A_MOMENT)
            overtaken.set()

    other = threading.Thread(target=overtake)
    with store.write() as connection:
        assert not tracked_among(connection, [a_hash(2)])
        other.start()
        assert ready.wait(PATIENCE)
        track(connection, A_WISH, A_MOMENT)
        assert not tracked_among(connection, [a_hash(2)])

    assert overtaken.wait(PATIENCE)
    other.join()


def test_writer_kept_waiting_too_long_says_that_nothing_was_saved(url: str) -> None:
    with (
        open_store(url) as other,
        open_store(url, patience=seconds(0.05)) as store,
        other.write(),
        pytest.raises(StoreUnavailable, match="writing for too long"),
        store.write(),
    ):
        pass


def test_writer_kept_waiting_by_its_own_process_says_the_same(url: str) -> None:
    with (
        open_store(url, patience=seconds(0.05)) as store,
        store.write(),
        pytest.raises(StoreUnavailable, match="writing for too long"),
        store.write(),
    ):
        pass


def test_value_that_cannot_be_kept_is_a_mistake_and_no_trouble_of_the_store(store: Store) -> None:
    with pytest.raises(ValueError, match="no time zone"), store.write() as connection:
        track(connection, A_WISH, A_MOMENT.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("nonsense", "not an address"),
        ("mysql://u:pa55word@host/db", "mysql, which is not supported"),
        ("postgresql://u:pa55word@host", "names no database"),
        ("postgresql://u:half@other:pa55word/half@host/db", "with %40 for @, %3A for :"),
        ("postgresql://u:pa55word@host:port/db", "a number for a port"),
        ("postgresql://u:pa55word@host/db?connect_timeout=soon", "write seconds"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_address_that_cannot_be_used_is_refused_without_showing_it(
    url: str, complaint: str
) -> None:
    with pytest.raises(StoreError, match=complaint) as caught:
        open_store(url)

    assert "pa55word" not in "".join(format_exception(caught.value))
