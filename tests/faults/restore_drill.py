"""A store is backed up while a worker writes and mails, lost, and restored from the backup."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import IO, Final, cast

from sqlalchemy import select

from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.release import count_held, release_held
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import save_polled
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.restore import restore
from dashboard.store.maintenance.verify import verify
from dashboard.store.schema import rejections
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_transition, an_id
from tests.databases import new_store
from tests.faults.delivery_promises import stored_deliveries
from tests.faults.mailing_worker import deliver
from tests.faults.rows import Chance, Play, Row
from tests.processes import PROJECT
from tests.received_mail import mails_of

_AGAIN: Final = 10**6
"""Added to the number of a change that is seen anew: the worker draws other ids each time."""


@contextmanager
def _drilling(folder: Path) -> Iterator[Play]:
    """Drill on SQLite and PostgreSQL in turn."""

    def play(chance: Chance) -> None:
        home = folder / str(chance.number)
        home.mkdir()
        with new_store("postgresql" if chance.number % 2 else "sqlite", home) as url:
            _drill(url, home, chance)

    yield play


def _drill(url: str, home: Path, chance: Random) -> None:
    seen, safe = _lose_a_store(url, home, chance)
    mails = _mails(home)
    at = datetime.now(UTC)
    restore(url, home / "backup.sqlite", Actor("operator", at), home)
    with open_store(url) as store:
        with store.read() as connection:
            assert [each.what for each in verify(connection)] == []
            kept = set(connection.scalars(select(rejections.c.tx_hash)))
        lost = {a_hash(each) for each in safe} - kept
        assert not lost, f"{len(lost)} rejections that were stored before the backup are lost"
        _see_again(store, seen, kept)
        deliver(store, home / "mail", "successor")
        assert _mails(home) == mails, "somebody was mailed after the restore"
        _check_nothing_is_lost(store, seen)


def _lose_a_store(url: str, home: Path, chance: Random) -> tuple[list[int], list[int]]:
    """Let a worker live, back up meanwhile; return what it stored, and what before the backup."""
    with ExitStack() as alive:
        process = alive.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.faults.mailing_worker", url, str(home / "mail"), "1"],
                cwd=PROJECT,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        alive.callback(process.kill)
        heard = cast("IO[bytes]", process.stdout)
        safe = [int(heard.readline()) for _ in range(chance.randrange(1, 12))]
        with open_store(url) as store:
            back_up(store, home / "backup.sqlite")
        threading.Event().wait(chance.uniform(0, 0.3))
        process.kill()
        seen = safe + [int(line) for line in heard.read().split(b"\n")[:-1]]
    return seen, safe


def _see_again(store: Store, seen: list[int], kept: set[TxHash]) -> None:
    """Ask upstream again: it answers what the backup does not know."""
    with store.write() as connection:
        for number in seen:
            if a_hash(number) in kept:
                continue
            track(connection, TrackRequest(a_hash(number), (A_NETWORK,), None, ""), A_MOMENT)
            rejection_id = save_polled(
                connection, A_NETWORK, a_record(tx_hash=a_hash(number)), A_MOMENT
            )
            news = a_transition(number, transition_id=an_id(number + _AGAIN))
            assert record_transition(connection, news, rejection_id)


def _check_nothing_is_lost(store: Store, seen: list[int]) -> None:
    """See that each rejection was told, or is held, and that what is held can be sent."""
    found = stored_deliveries(store)
    known = {tx_hash for each in found.messages for tx_hash in found.told[each.message_id]}
    missing = {str(a_hash(each)) for each in seen} - known
    assert not missing, f"of {len(missing)} rejections nobody is or was told"
    states = {each.state for each in found.messages}
    assert states <= {NotificationState.SENT, NotificationState.HELD}, states
    with store.write() as connection:
        held = count_held(connection)
        assert release_held(connection, datetime.now(UTC)) == held


def _mails(home: Path) -> list[str]:
    """Return the Message-ID of every mail, none twice."""
    ids = [mail["Message-ID"] for mail in mails_of(home / "mail")]
    assert len(ids) == len(set(ids)), "a mail came twice"
    return sorted(ids)


RESTORE_DRILL = Row(
    name="restore-drill",
    promise=(
        "a store is backed up while a worker writes and mails, the worker is killed (-9), and "
        "the backup is restored, on SQLite and PostgreSQL: nothing from before the backup is "
        "lost, no mail since then is sent again, and what may have been sent is held"
    ),
    short=4,
    full=200,
    stage=_drilling,
)
