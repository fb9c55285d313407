"""A backup takes the place of a store: verified, with nothing deleted and nobody told twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from dashboard.domain.audit import Action, Doer
from dashboard.domain.condition import Subject, SubjectKind
from dashboard.domain.notice import NoticeState
from dashboard.errors import ForeignStore, SchemaMismatch, StoreError, StoreUnavailable
from dashboard.store.archive import last_place
from dashboard.store.audit import AuditFilter, audit_entries
from dashboard.store.backup import back_up
from dashboard.store.conditions import change
from dashboard.store.engine import Store, installation_id, open_store
from dashboard.store.held import SETTLING, how_many_held, let_go, release
from dashboard.store.leases import holders
from dashboard.store.outbox import expand, recent_notices, unexpanded
from dashboard.store.rejections import save_polled, version_digest, versions
from dashboard.store.restore import GAP, Restored, restore
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_hash,
    a_record,
    a_transition,
    an_address,
    an_id,
    seconds,
)
from tests.unit.store.lived_in import content_of, keep_report, live_in
from tests.unit.store.machine import Machine
from tests.unit.store.owing import OPS, claim_due, reject, take_lease
from tests.unit.store.test_migrate import set_schema
from tests.unit.store.test_upgrade import a_store_of_the_first_schema

AN_HOUR_LATER = A_MOMENT + seconds(3600)
BY = Doer("operator", AN_HOUR_LATER)


@pytest.fixture
def backup(url: str, tmp_path: Path) -> Path:
    """Return a backup of a store in which something of every kind happened."""
    with open_store(url, Machine().clock) as store:
        live_in(store)
        return back_up(store, tmp_path / "backup.sqlite").path


def restored(url: str, backup: Path, by: Doer = BY) -> Restored:
    return restore(url, backup, by, backup.parent)


def test_restored_store_holds_what_the_backup_held(url: str, backup: Path) -> None:
    with open_store(url) as store, store.write() as connection:
        keep_report(connection, a_hash(50))

    done = restored(url, backup)

    assert done.rows["rejections"] == 7
    with open_store(url) as store, store.read() as connection:
        assert versions(connection, a_hash(50)) == []
        assert versions(connection, a_hash(4)) != []
        [entry] = audit_entries(connection, AuditFilter(Action.RESTORE))
    assert (entry.actor, entry.details["held"]) == ("operator", 3)


def test_store_that_was_there_is_put_aside_whole(url: str, backup: Path) -> None:
    with open_store(url) as store:
        before = content_of(store)

    done = restored(url, backup)

    assert done.aside is not None
    assert _content_aside(url, done.aside) == len(before["rejections"])


@pytest.mark.parametrize("database", ["sqlite"])
def test_store_can_be_restored_into_an_empty_place(backup: Path, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/new/linewatch.db"

    done = restore(place, backup, BY, tmp_path)

    assert done.aside is None
    with open_store(place) as store, store.read() as connection:
        assert installation_id(connection) == done.installation_id


def test_notice_that_the_backup_owes_is_held(url: str, backup: Path) -> None:
    done = restored(url, backup)

    with open_store(url) as store:
        token = take_lease(store)
        assert claim_due(store, token, AN_HOUR_LATER) == []
        with store.read() as connection:
            assert how_many_held(connection) == done.held == 3


def test_change_that_the_backup_had_not_told_yet_is_held(url: str, tmp_path: Path) -> None:
    with open_store(url) as store:
        reject(store, count=2)
        backup = back_up(store, tmp_path / "backup.sqlite").path

    done = restored(url, backup)

    assert done.held == 2
    with open_store(url) as store:
        _expand(store)
        assert claim_due(store, take_lease(store), AN_HOUR_LATER) == []


@pytest.mark.parametrize(
    ("rejected_at", "state"),
    [
        (AN_HOUR_LATER - seconds(1), NoticeState.HELD),
        (AN_HOUR_LATER, NoticeState.HELD),
        (AN_HOUR_LATER + seconds(1), NoticeState.OWED),
    ],
)
def test_rejection_is_told_only_if_it_was_made_after_the_restore(
    url: str, backup: Path, rejected_at: datetime, state: NoticeState
) -> None:
    restored(url, backup)

    with open_store(url) as store:
        with store.write() as connection:
            record = a_record(tx_hash=a_hash(60), timestamp=rejected_at)
            seen_at = AN_HOUR_LATER + seconds(60)
            rejection_id = save_polled(connection, A_NETWORK, record, seen_at)
            change(connection, a_transition(60, at=seen_at), rejection_id)
        _expand(store)
        with store.read() as connection:
            assert recent_notices(connection, 1)[0].state is state


@pytest.mark.parametrize(
    ("after", "state"),
    [(SETTLING, NoticeState.HELD), (SETTLING + seconds(1), NoticeState.OWED)],
)
def test_condition_of_a_network_is_told_again_when_all_has_settled(
    url: str, backup: Path, after: timedelta, state: NoticeState
) -> None:
    restored(url, backup)

    with open_store(url) as store:
        with store.write() as connection:
            busy = Subject(SubjectKind.BUSYNESS, A_NETWORK)
            change(connection, a_transition(61, subject=busy, at=AN_HOUR_LATER + after), None)
        _expand(store)
        with store.read() as connection:
            assert recent_notices(connection, 1)[0].state is state


def test_released_notice_is_owed_and_nothing_is_in_doubt_any_more(url: str, backup: Path) -> None:
    restored(url, backup)

    with open_store(url) as store:
        with store.write() as connection:
            assert release(connection, AN_HOUR_LATER) == 3
        with store.write() as connection:
            save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(60)), AN_HOUR_LATER)
            change(connection, a_transition(60, at=A_MOMENT), None)
        _expand(store)
        assert len(claim_due(store, take_lease(store), AN_HOUR_LATER)) == 4


def test_notice_that_is_let_go_stays_on_record(url: str, backup: Path) -> None:
    restored(url, backup)

    with open_store(url) as store, store.write() as connection:
        assert let_go(connection) == 3
        assert how_many_held(connection) == 0
        notices = recent_notices(connection, 10)
    assert {each.state for each in notices} == {NoticeState.DEAD}
    assert {each.outcome for each in notices} == {"not sent: let go after a restore"}


def test_worker_of_the_lost_time_is_fenced(url: str, backup: Path) -> None:
    with open_store(url) as store:
        lost = [take_lease(store, f"job {number}") for number in range(5)]

    restored(url, backup)

    with open_store(url) as store:
        with store.read() as connection:
            assert holders(connection) == {}
        assert take_lease(store) > GAP > max(lost)


def test_place_of_the_lost_time_is_never_given_again(url: str, backup: Path) -> None:
    with open_store(url) as store:
        with store.write() as connection:
            keep_report(connection, a_hash(50))
        with store.read() as connection:
            lost = last_place(connection)

    restored(url, backup)

    with open_store(url) as store:
        with store.write() as connection:
            keep_report(connection, a_hash(51))
        with store.read() as connection:
            assert last_place(connection) > GAP > lost


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

    with pytest.raises(StoreError, match="nothing was changed: 1 changes of a condition"):
        restored(url, backup)


def test_backup_of_a_newer_version_is_refused(url: str, backup: Path) -> None:
    set_schema(f"sqlite:///{backup}", "9999")

    with pytest.raises(SchemaMismatch, match=r"has schema 9999, .* upgrade Linewatch"):
        restored(url, backup)


def test_backup_of_another_installation_is_refused_unless_it_is_meant(
    url: str, backup: Path
) -> None:
    with pytest.raises(ForeignStore, match="with --force this installation becomes that one"):
        restore(url, backup, BY, backup.parent, an_id(77))

    with open_store(url) as store, store.read() as connection:
        assert audit_entries(connection, AuditFilter(Action.RESTORE)) == []


def test_copies_that_were_prepared_are_gone_afterwards(url: str, backup: Path) -> None:
    restored(url, backup)

    assert [each for each in backup.parent.iterdir() if "restoring" in each.name] == []


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
def test_backup_of_an_older_schema_is_brought_to_ours(url: str, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    a_store_of_the_first_schema(tmp_path / "old", "MMU")
    old = tmp_path / "old" / "linewatch.db"
    record = a_record(
        tx_hash=a_hash(1), sender=an_address(0), nonce=0, reason_message="MMU", timestamp=A_MOMENT
    )
    with closing(sqlite3.connect(old)) as driver, driver:
        driver.execute("UPDATE rejections SET version_digest = ?", [version_digest(record)])

    restored(url, old)

    with open_store(url) as store, store.read() as connection:
        assert versions(connection, a_hash(1)) != []


def _expand(store: Store) -> None:
    with store.write() as connection:
        for entry in unexpanded(connection, 10):
            expand(connection, entry, [OPS], AN_HOUR_LATER)


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
