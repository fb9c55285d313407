"""A store of each older schema is brought to ours, and the machine dies on the way."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from sqlalchemy import create_engine

from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import configuration
from dashboard.store.maintenance.verify import verify
from dashboard.store.rejections.counter_steps import CounterStep
from dashboard.store.rejections.save import version_digest
from dashboard.store.schema import REVISION
from dashboard.store.schema.columns import milliseconds_of
from dashboard.store.tracking.transactions import is_tracked
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, an_address, an_id
from tests.faults.processes import Launcher, Surroundings, launching
from tests.faults.rows import Chance, Play, Row
from tests.installation import new_installation

_MANY: Final = 150
_LONGEST: Final = 0.6
"""Seconds after which most migrations are over."""
_KILLS: Final = 3

_AT: Final = milliseconds_of(A_MOMENT)
_REJECTION: Final = """
    INSERT INTO rejections (network_id, tx_hash, sender, nonce, tx_rejection_stage, reason_message,
                            timestamp, first_seen_at, version_digest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TOLD: Final = (
    (
        "INSERT INTO transitions (transition_id, subject, kind, network_id, tx_hash, after, at, "
        "rejection_id) VALUES (?, ?, 'transaction', ?, ?, 'rejected', ?, ?)"
    ),
    "INSERT INTO outbox (transition_id, expanded_at) VALUES (?, ?)",
    (
        "INSERT INTO notifications (notification_id, transition_id, channel, address, "
        "message_id, created_at, state, attempts, next_attempt_at, outcome) "
        "VALUES (?, ?, 'mail', 'a', ?, ?, 'pending', 0, ?, '')"
    ),
)
_TRACKED: Final = (
    "INSERT INTO tracked_transactions (tx_hash, tracked_at, label, note) VALUES (?, ?, 'x', '')"
)
_WATCH: Final = "INSERT INTO watches (tx_hash, network_id, tracked_at) VALUES (?, ?, ?)"
_TALLY: Final = """
    INSERT INTO rejection_tallies
    SELECT ?, ?, tx_rejection_stage, reason_kind, '', network_id, count(*)
    FROM rejections GROUP BY tx_rejection_stage, reason_kind, network_id
"""
_COUNTED: Final = ("rejections", "transitions", "outbox", "notifications")


@contextmanager
def _upgrading(folder: Path) -> Iterator[Play]:
    """Take another older schema in each run, the oldest first."""
    with launching() as launcher:

        def play(chance: Chance) -> None:
            number = chance.number
            older = f"{1 + number % (int(REVISION) - 1):04d}"
            home = folder / str(number)
            home.mkdir()
            path = home / "linewatch.sqlite"
            is_watching = _make(path, older)
            for _ in range(_KILLS):
                _migrate(launcher, home, chance.uniform(0, _LONGEST))
                _check(path, older)
            _migrate(launcher, home, None)
            _check_all(path, is_watching=is_watching)
            shutil.rmtree(home)

        yield play


def _migrate(launcher: Launcher, home: Path, dies_after: float | None) -> None:
    """Run the command, and kill it after so many seconds; None lets it live."""
    surroundings = Surroundings(new_installation(home).environment(), home / "log")
    process = launcher.linewatch(["migrate"], surroundings)
    if dies_after is not None and not process.ended.wait(dies_after):
        process.kill()
    assert process.ended.wait(60), "the migration does not end"
    assert dies_after is not None or process.code == 0, process.last_lines()


def _make(path: Path, schema: str) -> bool:
    """Make a store as an older version left it; return whether it tracked hashes in that form."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        command.upgrade(configuration(connection), schema)
    engine.dispose()
    with closing(sqlite3.connect(path)) as driver, driver:
        for number in range(1, _MANY + 1):
            _tell(driver, number)
        driver.execute(
            "INSERT INTO installation (installation_id, last_token) VALUES (?, 5)", [an_id().hex]
        )
        tables = {name for (name,) in driver.execute("SELECT name FROM sqlite_schema")}
        if "rejection_tallies" in tables:
            driver.executemany(_TALLY, [(level, level.beginning(_AT)) for level in CounterStep])
        if "watches" not in tables:
            return False
        for number in range(1, _MANY + 1):
            driver.execute(_TRACKED, [bytes(a_hash(number)), _AT])
            driver.execute(_WATCH, [bytes(a_hash(number)), A_NETWORK, _AT])
    return True


def _tell(driver: sqlite3.Connection, number: int) -> None:
    """Keep a rejection, what it changed, and the notification that is pending because of it."""
    record = a_record(tx_hash=a_hash(number), sender=an_address(number), nonce=number)
    tx_hash, mark = bytes(record.tx_hash), an_id(number).hex
    kept = driver.execute(
        _REJECTION,
        [
            A_NETWORK,
            tx_hash,
            bytes(record.sender),
            number.to_bytes(8, "big"),
            record.tx_rejection_stage.value,
            record.reason_message,
            _AT,
            _AT,
            version_digest(record),
        ],
    )
    subject = f"transaction:{A_NETWORK}:{record.tx_hash}"
    changed, expanded, pending = _TOLD
    driver.execute(changed, [mark, subject, A_NETWORK, tx_hash, _AT, kept.lastrowid])
    driver.execute(expanded, [mark, _AT])
    driver.execute(pending, [mark, mark, f"<{number}>", _AT, _AT])


def _check(path: Path, older: str) -> None:
    """See that the store is the old one or the new one, whole, and nothing between."""
    assert _schema(path) in {older, REVISION}, f"{_schema(path)} is neither {older} nor {REVISION}"
    with closing(sqlite3.connect(path)) as driver:
        assert driver.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in _COUNTED:
            (many,) = driver.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a name of ours
            assert many == _MANY, f"{many} of {_MANY} rows of {table} are left, from {older}"


def _check_all(path: Path, *, is_watching: bool) -> None:
    _check(path, REVISION)
    with open_store(f"sqlite:///{path}") as store, store.read() as connection:
        assert [each.what for each in verify(connection)] == []
        if is_watching:
            hashes = [a_hash(each) for each in range(1, _MANY + 1)]
            lost = [each for each in hashes if not is_tracked(connection, each)]
            assert not lost, f"{len(lost)} hashes are not tracked any more"


def _schema(path: Path) -> str:
    with closing(sqlite3.connect(path)) as driver:
        (revision,) = driver.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(revision)


UPGRADES = Row(
    name="upgrades",
    promise=(
        "`linewatch migrate` is killed (-9) again and again on the way from each older schema: "
        "the store has the old schema or the new one, whole, and in the end every rejection, "
        "tracked hash, change and pending notification is there"
    ),
    short=8,
    full=300,
    stage=_upgrading,
)
