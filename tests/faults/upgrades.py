"""A store of each released schema is upgraded by the next release, and killed on the way."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import create_engine

from dashboard.errors import SchemaMismatch
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.rejections.save import version_digest
from dashboard.store.schema import REVISIONS
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, an_address, an_id
from tests.faults.rows import Chance, Play, Row
from tests.installation import new_installation
from tests.next_release import NEXT_REVISION, make_next_release
from tests.processes import Launcher, ProcessOptions, launching
from tests.released_stores import make_released
from tests.waiting import PATIENCE

_MANY: Final = 3_000
_LONGEST: Final = 0.6
"""Seconds after which most migrations are over."""
_KILLS: Final = 3

_AT: Final = milliseconds_of(A_MOMENT)
_REJECTION: Final = """
    INSERT INTO rejections (network_id, tx_hash, sender, nonce, tx_rejection_stage, reason_message,
                            timestamp, first_seen_at, version_digest, source)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'polled')
"""
_CHANGE: Final = (
    (
        "INSERT INTO transitions (transition_id, subject, kind, network_id, tx_hash, after, at, "
        "rejection_id) VALUES (?, ?, 'transaction', ?, ?, 'rejected', ?, ?)"
    ),
    "INSERT INTO outbox (transition_id, expanded_at) VALUES (?, ?)",
    (
        "INSERT INTO notifications (notification_id, transition_id, position, channel, address, "
        "message_id, created_at, release_at, state, attempts, next_attempt_at, outcome) "
        "VALUES (?, ?, ?, 'mail', 'a', ?, ?, ?, 'pending', 0, ?, '')"
    ),
)
_COUNTERS: Final = {
    "0.1.0": (
        "INSERT INTO rejection_counters VALUES (0, 0, 'SEQUENCER', 'unparsed', '', 1, :many)",
        "INSERT INTO rejection_senders SELECT sender, count(*), 0 FROM rejections GROUP BY sender",
    ),
    "0.2.0": (
        (
            "INSERT INTO rejection_days SELECT :at - :at % 86400000, '', reason_kind, "
            "tx_rejection_stage, network_id, count(*) FROM rejections GROUP BY 3, 4, 5"
        ),
    ),
}
"""How each schema counts rejections; of the first one some, since nobody reads them any more."""

_TRACKED: Final = (
    "INSERT INTO cohorts (cohort_id, tracked_at, size, is_rejected) VALUES (1, :at, :many, 1)",
    (
        "INSERT INTO watched_cohorts (cohort_id, network_id, watch_id, watched_at, born_at, "
        "is_rejected) VALUES (1, :network, 1, :at, :at, 1)"
    ),
    (
        "INSERT INTO tracked_hashes (tx_hash, cohort_id, label, note) "
        "SELECT tx_hash, 1, 'x', '' FROM rejections"
    ),
    "INSERT INTO tracked_labels (label, many) VALUES ('x', :many)",
)
_COUNTED: Final = ("rejections", "transitions", "outbox", "notifications", "tracked_hashes")


@contextmanager
def _upgrading(folder: Path) -> Iterator[Play]:
    """Take another released schema in each run, the oldest first."""
    with launching(make_next_release(folder / "next-release")) as launcher:

        def play(chance: Chance) -> None:
            released = REVISIONS[chance.number % len(REVISIONS)]
            home = folder / str(chance.number)
            home.mkdir()
            path = home / "linewatch.sqlite"
            _make(path, released)
            for _ in range(_KILLS):
                _migrate(launcher, home, chance.uniform(0, _LONGEST))
                _check(path, {released, NEXT_REVISION})
            _migrate(launcher, home, None)
            _check(path, {NEXT_REVISION})
            _run(launcher, home, None, "verify")
            _check_refused(path)
            _go_back(path, released)
            _migrate(launcher, home, None)
            _check(path, {NEXT_REVISION})
            shutil.rmtree(home)

        yield play


def _migrate(launcher: Launcher, home: Path, dies_after: float | None) -> None:
    _run(launcher, home, dies_after, "migrate")


def _run(launcher: Launcher, home: Path, dies_after: float | None, name: str) -> None:
    """Run a command, and kill it after so many seconds; None lets it live."""
    process_options = ProcessOptions(new_installation(home).environment(), home / "log")
    process = launcher.linewatch([name], process_options)
    if dies_after is not None and not process.ended.wait(dies_after):
        process.kill()
    assert process.ended.wait(PATIENCE), f"{name} does not end"
    assert dies_after is not None or process.code == 0, process.last_lines()


def _make(path: Path, schema: str) -> None:
    """Make a store as a release left it, by statements of that time."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        make_released(connection, schema)
    engine.dispose()
    with closing(sqlite3.connect(path)) as driver, driver:
        for number in range(1, _MANY + 1):
            _insert(driver, number)
        driver.execute(
            "INSERT INTO installation (installation_id, last_token) VALUES (?, 5)", [an_id().hex]
        )
        for statement in (*_COUNTERS[schema], *_TRACKED):
            driver.execute(statement, {"at": _AT, "many": _MANY, "network": A_NETWORK})


def _insert(driver: sqlite3.Connection, number: int) -> None:
    """Insert a rejection, what it changed, and the notification that is pending because of it."""
    record = a_record(tx_hash=a_hash(number), sender=an_address(number), nonce=number)
    tx_hash, mark = bytes(record.tx_hash), an_id(number).hex
    inserted = driver.execute(
        _REJECTION,
        [
            A_NETWORK,
            tx_hash,
            bytes(an_address(number)),
            number.to_bytes(8, "big"),
            record.tx_rejection_stage.value,
            record.reason_message,
            _AT,
            _AT,
            version_digest(record),
        ],
    )
    subject = f"transaction:{A_NETWORK}:{record.tx_hash}"
    transition, expanded, notification = _CHANGE
    driver.execute(transition, [mark, subject, A_NETWORK, tx_hash, _AT, inserted.lastrowid])
    driver.execute(expanded, [mark, _AT])
    driver.execute(notification, [mark, mark, number, f"<{number}>", _AT, _AT, _AT])


def _check(path: Path, allowed: set[str]) -> None:
    """See that the store has one of these schemas, whole, and all rows."""
    with closing(sqlite3.connect(path)) as driver:
        (found,) = driver.execute("SELECT version_num FROM alembic_version").fetchone()
        assert found in allowed, f"the store has schema {found}"
        assert driver.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in _COUNTED:
            (many,) = driver.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a name of ours
            assert many == _MANY, f"{many} of {_MANY} rows of {table} are left"
        (upgraded,) = driver.execute("SELECT sum(attempts) FROM notifications").fetchone()
        (tables,) = driver.execute(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'rejected_hashes'"
        ).fetchone()
    is_new = found == NEXT_REVISION
    assert (upgraded, tables) == (_MANY * is_new, is_new), "the upgrade was made in part, or twice"


def _check_refused(path: Path) -> None:
    """See that this release neither opens nor migrates what the next one has upgraded."""
    for use in (open_store, migrate):
        with pytest.raises(SchemaMismatch, match="upgrade Linewatch"):
            use(f"sqlite:///{path}")
    _check(path, {NEXT_REVISION})


def _go_back(path: Path, released: str) -> None:
    """Put the copy that the upgrade left in place of the store, as docs/operate.md says."""
    path.unlink()
    path.with_name(f"{path.name}.schema-{released}").rename(path)
    _check(path, {released})


UPGRADES = Row(
    name="upgrades",
    promise=(
        "`migrate` to a next release is killed again and again, from each released schema: the "
        "store has the old schema or the new one, whole; in the end all rejections, tracked "
        "hashes, changes and pending notifications are there, upgraded once, and the older "
        "release refuses the store, but finds all of it in the copy from before"
    ),
    short=2,
    full=300,
    stage=_upgrading,
)
