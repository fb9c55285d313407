"""A backup takes the place of a store: verified first, and nothing is deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from dashboard.domain.people.access import Action
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import ForeignStore, SchemaMismatch, StoreError, StoreUnavailable
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.engine.engine import Store, installation_id, open_store
from dashboard.store.engine.leases import holders
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.restore import GAP, restore
from dashboard.store.maintenance.verify import verify
from dashboard.store.rejections.archive import last_rejection_id
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, an_id
from tests.databases import copied_store, set_schema
from tests.delivery_checks import take_lease
from tests.one_by_one import versions
from tests.postgresql import empty_database
from tests.unit.store.filled_store import content_of, keep_report, live
from tests.unit.store.restores import BY, restored


@pytest.fixture
def url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a store in which something of every kind happened."""
    with copied_store(database, tmp_path, live) as address:
        yield address


@pytest.fixture
def backup(url: str, tmp_path: Path) -> Path:
    """Return a backup of it."""
    with open_store(url) as store:
        return back_up(store, tmp_path / "backup.sqlite").path


def test_restored_store_holds_what_the_backup_held_and_what_was_there_is_put_aside(
    url: str, backup: Path
) -> None:
    with open_store(url) as store:
        with store.write() as connection:
            keep_report(connection, a_hash(50))
        before = content_of(store)

    done = restored(url, backup)

    assert done.rows["rejections"] == 7
    with open_store(url) as store, store.read() as connection:
        assert versions(connection, a_hash(50)) == []
        assert versions(connection, a_hash(4)) != []
        [entry] = audit_entries(connection, AuditFilter(Action.RESTORE))
    assert (entry.actor, entry.details["held"]) == ("operator", 3)
    assert done.aside is not None
    assert _content_aside(url, done.aside) == len(before["rejections"]) == 8
    assert [each for each in backup.parent.iterdir() if "restoring" in each.name] == []


@pytest.mark.parametrize("database", ["sqlite"])
def test_store_can_be_restored_into_an_empty_place(backup: Path, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/new/linewatch.db"

    done = restore(place, backup, BY, tmp_path)

    assert done.aside is None
    with open_store(place) as store, store.read() as connection:
        assert installation_id(connection) == done.installation_id


def test_worker_of_the_lost_time_is_fenced_and_its_numbers_are_never_given_again(
    url: str, backup: Path
) -> None:
    with open_store(url) as store:
        lost = [take_lease(store, name=f"job {number}") for number in range(5)]
        with store.write() as connection:
            keep_report(connection, a_hash(50))
        with store.read() as connection:
            last = last_rejection_id(connection)

    restored(url, backup)

    with open_store(url) as store:
        with store.read() as connection:
            assert holders(connection) == {}
        assert take_lease(store) > GAP > max(lost)
        with store.write() as connection:
            keep_report(connection, a_hash(90))
            track(connection, TrackRequest(a_hash(91), (A_NETWORK,)), A_MOMENT)
        with store.read() as connection:
            assert last_rejection_id(connection) > GAP > last
            assert list(verify(connection)) == []


def test_store_in_use_is_not_replaced(url: str, store: Store, backup: Path) -> None:
    before = content_of(store)

    with pytest.raises(StoreUnavailable, match="is in use: stop everything"):
        restored(url, backup)

    assert content_of(store) == before


def test_backup_that_is_damaged_changes_nothing(url: str, backup: Path) -> None:
    octets = bytearray(backup.read_bytes())
    octets[len(octets) // 2 : len(octets) // 2 + 8192] = bytes(8192)
    backup.write_bytes(octets)

    with pytest.raises(StoreError, match=r"backup\.sqlite is damaged"):
        restored(url, backup)

    with open_store(url) as store, store.read() as connection:
        assert audit_entries(connection, AuditFilter(Action.RESTORE)) == []


def test_backup_that_lost_a_row_changes_nothing(url: str, backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("DELETE FROM outbox WHERE outbox_id = 2")

    with pytest.raises(StoreError, match=r"nothing was changed: changes of a condition .*: 1 "):
        restored(url, backup)


def test_backup_of_a_newer_version_is_refused(url: str, backup: Path) -> None:
    set_schema(f"sqlite:///{backup}", "99.0.0")

    with pytest.raises(SchemaMismatch, match=r"has schema 99\.0\.0, .* upgrade Linewatch"):
        restored(url, backup)


def test_backup_of_another_installation_is_refused_unless_it_is_meant(
    url: str, backup: Path
) -> None:
    with pytest.raises(ForeignStore, match="with --force this installation becomes that one"):
        restore(url, backup, BY, backup.parent, an_id(77))

    with open_store(url) as store, store.read() as connection:
        assert audit_entries(connection, AuditFilter(Action.RESTORE)) == []


@pytest.mark.parametrize("database", ["sqlite"])
@pytest.mark.parametrize("content", [b"Dear diary, " * 1000, None])
def test_damaged_store_is_replaced_and_kept(
    url: str, backup: Path, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "linewatch.db"
    damaged = path.read_bytes()[: 3 * 4096] if content is None else content
    path.write_bytes(damaged)
    path.with_name("linewatch.db-wal").write_bytes(b"a log that nobody can read")

    done = restored(url, backup)

    assert done.aside is not None
    assert Path(done.aside).read_bytes() == damaged
    with open_store(url) as store, store.read() as connection:
        assert versions(connection, a_hash(4)) != []


@pytest.mark.parametrize("database", ["sqlite"])
def test_tables_of_another_program_stay_where_they_are(backup: Path) -> None:
    with empty_database() as other:
        engine = create_engine(other.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE accounts AS SELECT 7 AS balance"))

        with pytest.raises(StoreError, match="tables of another program, and nothing was changed"):
            restored(other, backup)

        with engine.connect() as connection:
            assert connection.scalar(text("SELECT balance FROM public.accounts")) == 7
        engine.dispose()


def _content_aside(url: str, aside: str) -> int:
    """Count the rejections of a store that was put aside."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(aside)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM rejections").fetchone()
            return int(count)
    schema = aside.split()[2]
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connected:
        found = connected.scalar(text(f'SELECT count(*) FROM "{schema}".rejections'))  # noqa: S608 - a schema that the test named
    engine.dispose()
    return int(found or 0)
