"""A backup holds all of one moment, is made beside everybody, and is whole or is not there."""

from __future__ import annotations

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from dashboard.errors import InputError, StoreError, StoreUnavailable
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.backup import back_up, open_backup
from dashboard.store.maintenance.copy import last_number
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import outbox, rejections
from tests.builders import a_hash
from tests.full_disk import disk_that_takes_nothing
from tests.unit.store.filled_store import content, content_of, keep_report, live_in


def test_backup_holds_every_row_and_goes_on_counting_where_the_store_was(
    store: Store, tmp_path: Path
) -> None:
    live_in(store)

    back_up(store, tmp_path / "backup.sqlite")

    with open_backup(tmp_path / "backup.sqlite") as connection, store.read() as own:
        assert content(connection) == content(own)
        for table in (rejections, outbox):
            assert last_number(connection, table) == last_number(own, table) > 0


def test_backup_is_one_file_that_only_its_owner_reads(store: Store, tmp_path: Path) -> None:
    made = back_up(store, tmp_path / "backup.sqlite")

    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir() if "linewatch" not in each.name] == [
        "backup.sqlite"
    ]


def test_backup_waits_for_no_writer_and_holds_nothing_half_done(
    store: Store, tmp_path: Path
) -> None:
    before = content_of(store)
    with store.write() as connection:
        keep_report(connection, a_hash(1))
        back_up(store, tmp_path / "backup.sqlite")

    with open_backup(tmp_path / "backup.sqlite") as connection:
        assert content(connection) == before


def test_backup_is_whole_however_much_is_written_meanwhile(
    url: str, store: Store, tmp_path: Path
) -> None:
    is_done = threading.Event()

    def write_on() -> None:
        number = 100
        with open_store(url) as other:
            while not is_done.is_set():
                number += 1
                with other.write() as connection:
                    keep_report(connection, a_hash(number))

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        for number in range(3):
            back_up(store, tmp_path / f"{number}.sqlite")
    finally:
        is_done.set()
        writer.join()


@pytest.mark.parametrize("name", ["own.sqlite", "link.sqlite"])
def test_backup_never_takes_the_place_of_its_store(tmp_path: Path, name: str) -> None:
    own = tmp_path / "own.sqlite"
    (tmp_path / "link.sqlite").symlink_to(own)
    migrate(f"sqlite:///{own}")
    was = own.stat().st_ino

    with (
        open_store(f"sqlite:///{own}") as store,
        pytest.raises(InputError, match="is the store itself: name another file"),
    ):
        back_up(store, tmp_path / name, overwrites=True)

    assert own.stat().st_ino == was


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_backup_never_takes_the_place_of_what_sqlite_keeps_beside_a_store(
    tmp_path: Path, end: str
) -> None:
    own = tmp_path / "own.sqlite"
    migrate(f"sqlite:///{own}")

    with (
        open_store(f"sqlite:///{own}") as store,
        pytest.raises(InputError, match="belongs to the database beside it: name another file"),
    ):
        back_up(store, own.with_name(own.name + end), overwrites=True)


def test_backup_never_takes_the_place_of_a_device(store: Store, tmp_path: Path) -> None:
    (tmp_path / "device").symlink_to("/dev/null")

    with pytest.raises(InputError, match="device is not a plain file: name another one"):
        back_up(store, tmp_path / "device", overwrites=True)

    assert (tmp_path / "device").is_symlink()


def test_backup_overwrites_only_what_it_is_told_to(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "backup.sqlite"
    path.write_text("a diary", encoding="utf-8")

    with pytest.raises(InputError, match=r"backup\.sqlite exists already: .* --force"):
        back_up(store, path)
    assert path.read_text(encoding="utf-8") == "a diary"

    back_up(store, path, overwrites=True)
    with open_backup(path):
        pass


def test_backup_on_a_full_disk_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    live_in(store)
    (tmp_path / "there").mkdir()

    with disk_that_takes_nothing(), pytest.raises(StoreError, match=r"room|full|disk"):
        back_up(store, tmp_path / "there" / "backup.sqlite")

    assert list((tmp_path / "there").iterdir()) == []


def test_backup_into_a_folder_that_is_missing_names_the_remedy(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(StoreUnavailable, match="check that its folder exists"):
        back_up(store, tmp_path / "nowhere" / "backup.sqlite")


@pytest.mark.parametrize(
    ("content_of_file", "complaint"),
    [
        (b"", "is empty, so it is not a backup"),
        (b"Dear diary, " * 1000, "is damaged .* take another one"),
    ],
)
def test_file_that_is_no_backup_is_told_with_the_remedy(
    tmp_path: Path, content_of_file: bytes, complaint: str
) -> None:
    path = tmp_path / "backup.sqlite"
    path.write_bytes(content_of_file)

    with pytest.raises(StoreError, match=complaint), open_backup(path):
        pass


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("backup.sqlite", "there is no backup .*: check that the path is right"),
        (".", "is a folder: name one of the backups in it"),
    ],
)
def test_path_of_no_file_is_a_mistake_of_who_named_it(
    tmp_path: Path, name: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint), open_backup(tmp_path / name):
        pass


def test_database_of_another_program_is_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "photos.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")

    with pytest.raises(StoreError, match="of another program"), open_backup(path):
        pass


@pytest.mark.parametrize("database", ["sqlite"])
def test_store_in_use_is_not_taken_for_a_backup(store: Store, tmp_path: Path) -> None:
    live_in(store)

    with (
        pytest.raises(StoreError, match=r"has a log beside it .* `linewatch backup`"),
        open_backup(tmp_path / "linewatch.db"),
    ):
        pass
