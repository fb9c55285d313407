"""What only the file can go through: a full disk, damage, and how SQLite is set up."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from dashboard.errors import StoreUnavailable
from dashboard.store.engine.engine import Store, database_of, open_store, prove_writing
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.monitoring.upkeep import free_space
from tests.builders import A_MOMENT, A_NETWORK, DAY, a_hash, a_report, seconds
from tests.full_disk import disk_that_takes_nothing
from tests.one_by_one import newest, save_report
from tests.processes import PROJECT
from tests.unit.store.old_rows import forget, see_fees

ALONE = """
import sys
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.database import database_at
try:
    with database_at(sys.argv[1]).exclusive():
        print("exclusive")
except StoreUnavailable:
    print("in use")
"""


def damage(path: Path, at: int) -> None:
    """Overwrite a part of a closed store's file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(8192))


@pytest.fixture
def database() -> str:
    """Run on the file only."""
    return "sqlite"


@pytest.mark.parametrize(
    ("setting", "value"),
    [("synchronous", 2), ("journal_mode", "wal"), ("foreign_keys", 1)],
)
def test_writer_is_durable_and_keeps_references(store: Store, setting: str, value: object) -> None:
    with store.write() as connection:
        assert connection.scalar(text(f"PRAGMA {setting}")) == value


def test_who_forgets_awaits_no_disk_and_keeps_references(store: Store) -> None:
    settings = ("synchronous", "journal_mode", "foreign_keys")
    with store.write_unsynced() as connection:
        found = [connection.scalar(text(f"PRAGMA {setting}")) for setting in settings]

    assert found == [1, "wal", 1]


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


def test_reader_of_a_full_disk_keeps_nobody_out_once_there_is_room(store: Store, url: str) -> None:
    with open_store(url) as other:
        reader = other.driver_reader()
        with disk_that_takes_nothing(), contextlib.suppress(StoreUnavailable):
            reader.rows("SELECT 1", ())

        prove_writing(store)
        prove_writing(other)

        assert reader.rows("SELECT 1", ()) == [(1,)]


def test_room_of_what_was_forgotten_is_free_inside_and_used_again(store: Store) -> None:
    def look() -> tuple[int, int]:
        with store.read() as connection:
            return database_of(connection).size(connection), free_space(connection).inside

    moments = [A_MOMENT + seconds(number) for number in range(200)]
    see_fees(store, *moments)
    full, _ = look()

    forget(store, fees=moments[-1])
    forgotten, free = look()
    see_fees(store, *(moment - DAY for moment in moments[:100]))

    assert forgotten == full
    assert free > full // 20
    assert look()[0] == full


def test_migrating_lets_no_lock_of_an_open_store_go(store: Store, url: str) -> None:
    with store.read() as connection:
        assert newest(connection, 1) == []

    migrate(url)

    command = [sys.executable, "-c", ALONE, url]
    other = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert other.stdout == "in use\n"


def test_checkpoint_on_a_full_disk_says_so_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/linewatch.sqlite"
    migrate(url)
    with contextlib.closing(open_store(url)) as store:
        with store.write() as connection:
            save_report(connection, a_report(), A_NETWORK, A_MOMENT)

        with disk_that_takes_nothing(), pytest.raises(StoreUnavailable, match="its disk is full"):
            store.checkpoint()
