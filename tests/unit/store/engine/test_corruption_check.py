"""A damaged store is told when it is opened, with the way out, however it came to be so."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from dashboard.errors import SchemaMismatch, StoreError, StoreUnavailable
from dashboard.store.engine.database import database_at
from dashboard.store.engine.disk import raise_if_unread
from dashboard.store.engine.engine import Store, open_store
from tests.builders import a_hash
from tests.unit.store.filled_store import keep_report, live_in

A_SEARCH = timedelta(seconds=10)
A_PAGE = 4096
NOBODY = 65534


@pytest.fixture
def database() -> str:
    """Run on the file only."""
    return "sqlite"


@pytest.fixture
def path(url: str, tmp_path: Path) -> Path:
    """Return the file of a store that was closed, with some pages in it."""
    with open_store(url) as store:
        live_in(store)
        with store.write() as connection:
            for number in range(100, 200):
                keep_report(connection, a_hash(number))
    return tmp_path / "linewatch.db"


def root_of(path: Path, name: str) -> int:
    """Return where in the file a table or an index begins."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (page,) = connection.execute(query, [name]).fetchone()
    return (int(page) - 1) * A_PAGE


def zero(path: Path, at: int) -> None:
    """Lose one page, as a disk does."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(A_PAGE))


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda path: path.write_bytes(b"Dear diary, " * 1000), id="another file"),
        pytest.param(lambda path: path.write_bytes(bytes(50_000)), id="nothing but zeros"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-A_PAGE]), id="cut off"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:50]), id="only its head"),
        pytest.param(lambda path: zero(path, root_of(path, "rejections")), id="a lost table"),
        pytest.param(lambda path: zero(path, root_of(path, "ix_outbox_pending")), id="an index"),
    ],
)
def test_damage_is_told_whenever_a_store_is_opened(
    url: str, path: Path, harm: Callable[[Path], object]
) -> None:
    harm(path)

    with pytest.raises(StoreError, match=r"linewatch\.db is damaged .* `linewatch restore FILE`"):
        open_store(url)


def test_lost_page_within_a_table_is_found_by_a_role(url: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    for page in range(pages - 12, pages):
        zero(path, page * A_PAGE)

    with pytest.raises(StoreError, match="is damaged"):
        open_store(url, damage_search=A_SEARCH)


def test_error_that_passed_is_not_told_as_damage(url: str, path: Path) -> None:
    whole = path.read_bytes()
    zero(path, root_of(path, "rejections"))
    found = None
    with closing(sqlite3.connect(path)) as connection:
        try:
            connection.execute("SELECT count(*) FROM rejections NOT INDEXED").fetchone()
        except sqlite3.DatabaseError as error:
            found = error
    path.write_bytes(whole)
    assert found is not None

    with open_store(url):
        told = database_at(url).unavailable(found)

    assert isinstance(told, StoreUnavailable)
    assert "`linewatch verify` says whether the store is damaged" in str(told)


def test_page_that_the_disk_did_not_give_is_not_told_as_damage() -> None:
    raise_if_unread("Tree 2 page 2: btreeInitPage() returns error code 11")
    with pytest.raises(sqlite3.OperationalError) as raised:
        raise_if_unread("Tree 2 page 3: unable to get the page. error code=266")

    assert raised.value.sqlite_errorcode == sqlite3.SQLITE_IOERR_READ


def test_log_of_another_file_is_found(url: str, path: Path) -> None:
    other = path.with_name("other.db")
    with closing(sqlite3.connect(other, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE photos (name TEXT)")
        connection.executemany("INSERT INTO photos VALUES (?)", [["a picture" * 50]] * 500)
        shutil.copy(path.with_name("other.db-wal"), path.with_name("linewatch.db-wal"))

    with pytest.raises(StoreError):
        open_store(url, damage_search=A_SEARCH)


def test_look_ends_when_its_time_is_up(url: str, path: Path) -> None:
    with open_store(url, damage_search=timedelta(microseconds=1)):
        assert path.exists()


def test_empty_file_asks_what_it_was(url: str, path: Path) -> None:
    path.write_bytes(b"")

    with pytest.raises(SchemaMismatch, match="if it held something, `linewatch restore FILE`"):
        open_store(url)


def test_folder_in_place_of_a_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder: name a file"):
        open_store(f"sqlite:///{tmp_path}")


def test_file_that_this_user_may_not_open_is_told_with_the_remedy(url: str, path: Path) -> None:
    path.chmod(0)
    with nobody_in_particular(), pytest.raises(StoreUnavailable, match="give this user the right"):
        open_store(url)


@contextmanager
def nobody_in_particular() -> Iterator[None]:
    """Lay down what only an administrator may."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_log_that_a_reader_held_up_becomes_small_again(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "linewatch.db-wal"
    with store.read() as reading:
        reading.execute(text("SELECT count(*) FROM rejections")).all()
        for number in range(100, 130):
            with store.write() as connection:
                keep_report(connection, a_hash(number))
        store.checkpoint()
        assert log.stat().st_size > 0

    store.checkpoint()

    assert log.stat().st_size == 0
