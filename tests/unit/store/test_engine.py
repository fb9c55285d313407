"""Transactions are durable, readers wait for nobody, and trouble is told with its remedy."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine import Store, open_store, prove_writing
from dashboard.store.rejections import newest, versions
from dashboard.store.reports import save_report
from dashboard.store.transactions import TrackRequest, is_tracked, track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_report, seconds
from tests.disk import disk_that_takes_nothing

A_WISH = TrackRequest(a_hash(), (A_NETWORK,), None, "")


def damage(path: Path, at: int) -> None:
    """Overwrite a part of a closed store's file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(8192))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("synchronous", 2), ("journal_mode", "wal"), ("foreign_keys", 1)],
)
def test_writer_is_durable_and_keeps_references(store: Store, setting: str, value: object) -> None:
    with store.write() as connection:
        assert connection.scalar(text(f"PRAGMA {setting}")) == value


def test_reader_cannot_write_by_mistake(store: Store) -> None:
    with pytest.raises(StoreError, match="readonly"), store.read() as connection:
        track(connection, A_WISH, A_MOMENT)


def test_reader_does_not_wait_for_a_writer_and_sees_none_of_it(store: Store) -> None:
    with store.write() as writing:
        track(writing, A_WISH, A_MOMENT)
        with store.read() as reading:
            assert not is_tracked(reading, a_hash())

    with store.read() as reading:
        assert is_tracked(reading, a_hash())


def test_reader_sees_one_moment_however_long_it_reads(store: Store) -> None:
    with store.read() as reading:
        assert not is_tracked(reading, a_hash())
        with store.write() as writing:
            track(writing, A_WISH, A_MOMENT)
        assert not is_tracked(reading, a_hash())


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
                track(connection, TrackRequest(a_hash(2), (A_NETWORK,), None, ""), A_MOMENT)
            overtaken.set()

    other = threading.Thread(target=overtake)
    with store.write() as connection:
        assert not is_tracked(connection, a_hash(2))
        other.start()
        assert ready.wait(timeout=30)
        track(connection, A_WISH, A_MOMENT)
        assert not is_tracked(connection, a_hash(2))

    assert overtaken.wait(timeout=30)
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


def test_full_disk_is_told_and_saves_nothing(store: Store) -> None:
    def fill_the_disk() -> None:
        with store.write() as connection:
            pages = connection.scalar(text("PRAGMA page_count"))
            connection.execute(text(f"PRAGMA max_page_count = {pages}"))
            for number in range(100):
                report = a_report(tx_hash=a_hash(number), raw=bytes(1000))
                save_report(connection, report, A_NETWORK, A_MOMENT)

    with pytest.raises(StoreUnavailable, match="free some space"):
        fill_the_disk()

    with store.read() as connection:
        assert newest(connection, 1) == []


def test_proof_of_writing_changes_nothing(store: Store, tmp_path: Path) -> None:
    def content() -> list[str]:
        with contextlib.closing(sqlite3.connect(tmp_path / "linewatch.db")) as connection:
            return [*connection.iterdump()]

    before = content()

    prove_writing(store)

    assert content() == before


def test_proof_of_writing_fails_on_a_disk_that_takes_no_more_until_it_does(store: Store) -> None:
    with disk_that_takes_nothing(), pytest.raises(StoreUnavailable, match="disk"):
        prove_writing(store)

    prove_writing(store)


def test_value_that_cannot_be_kept_is_a_mistake_and_no_trouble_of_the_store(store: Store) -> None:
    with pytest.raises(ValueError, match="no time zone"), store.write() as connection:
        track(connection, A_WISH, A_MOMENT.replace(tzinfo=None))


def test_file_that_is_no_store_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "linewatch.db").write_bytes(b"Dear diary, " * 1000)

    with pytest.raises(StoreError, match=r"linewatch\.db is damaged .* restore a backup"):
        open_store(f"sqlite:///{tmp_path}/linewatch.db")


def test_damaged_store_is_told_with_the_remedy(url: str, tmp_path: Path) -> None:
    damage(tmp_path / "linewatch.db", at=100)

    with pytest.raises(StoreError, match=r"linewatch\.db is damaged .* restore a backup"):
        open_store(url)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("nonsense", "url is none"),
        ("postgresql://u:pa55word@host/db", "postgresql, which is not supported yet"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_address_that_cannot_be_used_is_refused_without_showing_it(
    url: str, complaint: str
) -> None:
    with pytest.raises(StoreError, match=complaint) as caught:
        open_store(url)

    assert "pa55word" not in str(caught.value)
