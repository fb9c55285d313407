"""A store moves to another database with everything, and the one it left says where it went."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import text

from dashboard.domain.people.access import Action, Actor
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import (
    ForeignStore,
    InputError,
    LinewatchError,
    SchemaMismatch,
    StoreUnavailable,
)
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.engine.database import database_at
from dashboard.store.engine.engine import MoveMark, Store, move_mark, open_store, set_move_mark
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.copy import last_number
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.move import move
from dashboard.store.maintenance.restore import restore
from dashboard.store.maintenance.verify import changed_rejections, verify
from dashboard.store.schema import outbox, rejections
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash
from tests.databases import copied_store
from tests.delivery_checks import claim_due, take_lease
from tests.one_by_one import newest
from tests.postgresql import empty_database
from tests.processes import PROJECT
from tests.unit.store.filled_store import content, content_of, keep_report, live
from tests.waiting import eventually

BY = Actor("operator", A_MOMENT)


@pytest.fixture
def target(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of an empty database of the other kind."""
    if database == "sqlite":
        with empty_database() as address:
            yield address
    else:
        yield f"sqlite:///{tmp_path}/moved.sqlite"


@pytest.fixture
def url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a store in which something of every kind happened."""
    with copied_store(database, tmp_path, live) as address:
        yield address


@pytest.fixture
def before(url: str) -> dict[str, object]:
    """Return what the store holds, but for what moving it adds."""
    return held(url)


def test_store_moves_with_every_row_and_its_log_says_so(
    url: str, target: str, before: dict[str, object], tmp_path: Path
) -> None:
    moved = move(url, target, BY)

    assert moved.rows["rejections"] == 7
    with open_store(target) as store, store.read() as connection:
        assert {**content(connection), "audit_log": []} == before
        assert list(verify(connection)) == []
        [entry] = audit_entries(connection, AuditFilter(Action.MOVE))
    assert (entry.actor, list(entry.details)) == ("operator", ["from"])
    with pytest.raises(ForeignStore, match=r"was moved to .*: set store\.url"):
        move(url, f"sqlite:///{tmp_path}/third.sqlite", BY)
    with pytest.raises(ForeignStore, match=r"was moved to .* before: nothing is left to move"):
        move(url, target, BY)


def test_new_place_counts_on_and_has_alone_what_was_pending(url: str, target: str) -> None:
    with open_store(url) as store, store.read() as connection:
        last = {each: last_number(connection, each) for each in (rejections, outbox)}

    move(url, target, BY)

    with pytest.raises(ForeignStore, match=r"was moved to .*: set store\.url"):
        open_store(url)
    with open_store(target) as store:
        with store.read() as connection:
            assert {each: last_number(connection, each) for each in last} == last
        with store.write() as connection:
            keep_report(connection, a_hash(90))
            assert newest(connection, 1)[0].rejection_id == last[rejections] + 1
            track(connection, TrackRequest(a_hash(91), (A_NETWORK,)), A_MOMENT)
        with store.read() as connection:
            assert list(verify(connection)) == []
        assert len(claim_due(store, take_lease(store))) == 3


def test_store_in_use_is_not_moved(url: str, target: str, store: Store) -> None:
    with pytest.raises(StoreUnavailable, match="is in use: stop everything"):
        move(url, target, BY)

    with store.read() as connection:
        assert list(changed_rejections(connection)) == []


def test_backup_is_not_restored_where_the_store_left_unless_it_is_meant(
    url: str, target: str, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.sqlite"
    with open_store(url) as store:
        back_up(store, backup)
    move(url, target, BY)

    with pytest.raises(ForeignStore, match=r"was moved to .*, and restore there; with --force"):
        restore(url, backup, BY, tmp_path)
    with pytest.raises(ForeignStore, match="was moved to"):
        open_store(url)

    restore(url, backup, BY, tmp_path, comes_back=True)
    with open_store(url):
        pass


def test_move_that_fails_leaves_the_store_as_it_was(url: str, target: str) -> None:
    with database_at(target).exclusive() as connection:
        connection.execute(text("CREATE TABLE photos (name TEXT)"))

    with pytest.raises(InputError, match=r"exists already|holds tables already"):
        move(url, target, BY)

    with open_store(url):
        pass


def is_open(url: str) -> bool:
    """Whether a worker would begin on a store."""
    try:
        open_store(url).close()
    except LinewatchError:
        return False
    return True


Killed: TypeAlias = Callable[[str, str, int, str], None]
"""Move a store, and die at a commit."""


@pytest.fixture(scope="module")
def killed() -> Iterator[Killed]:
    """Yield what moves in processes that kill themselves."""
    command, pipe = [sys.executable, "-m", "tests.unit.store.killed_move"], subprocess.PIPE
    with subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        given, answers = process.stdin, process.stdout

        def kill(url: str, target: str, commit: int, when: str) -> None:
            print(url, target, commit, when, file=given, flush=True)
            assert int(next(answers)) == -signal.SIGKILL
            for each in (url, target):
                eventually(partial(is_free, each), what="the end of its session at the server")

        yield kill


def is_free(url: str) -> bool:
    """Whether no process keeps the others out of a store, such as one that was just killed."""
    with suppress(ForeignStore, SchemaMismatch):
        try:
            open_store(url).close()
        except StoreUnavailable:
            return False
    return True


def held(url: str) -> dict[str, object]:
    """Return what a store holds, but for what moving it adds."""
    with open_store(url) as store:
        return {**content_of(store), "audit_log": []}


KILLS = [
    *((0, "inside"), (1, "before"), (1, "after"), (2, "after"), (3, "after")),
    # What is on the disk then is what the commit before has left.
    *(pytest.param(commit, "before", marks=pytest.mark.full) for commit in (2, 3)),
]
LEFT = {(2, "after"), (3, "before")}
"""Between these the source is left, and the copy not complete."""


@pytest.mark.parametrize(("commit", "when"), KILLS)
def test_move_that_was_killed_leaves_one_store_at_most_and_the_same_again_completes_it(
    url: str, target: str, before: dict[str, object], killed: Killed, commit: int, when: str
) -> None:
    killed(url, target, commit, when)

    open_ones = [address for address in (url, target) if is_open(address)]
    expected = [] if (commit, when) in LEFT else [target if (commit, when) == (3, "after") else url]
    assert open_ones == expected
    if target not in open_ones:
        move(url, target, BY)
    assert (is_open(url), held(target)) == (False, before)


def test_work_that_was_done_after_a_move_was_killed_is_moved_too(
    url: str, target: str, before: dict[str, object], killed: Killed
) -> None:
    killed(url, target, 2, "before")

    with pytest.raises(ForeignStore, match="is the copy of a move"):
        open_store(target)
    with open_store(url) as store, store.write() as connection:
        keep_report(connection, a_hash(90))
    now = held(url)
    move(url, target, BY)

    assert held(target) == now != before


def test_copy_of_another_store_is_not_replaced(
    url: str, target: str, tmp_path: Path, killed: Killed
) -> None:
    killed(url, target, 2, "before")
    other = f"sqlite:///{tmp_path}/other.sqlite"
    migrate(other)

    with pytest.raises(InputError, match=r"exists already|holds tables already"):
        move(other, target, BY)


def test_mark_of_a_move_is_read_as_it_was_set(store: Store) -> None:
    place = "a\nfolder/linewatch.sqlite"

    with store.write() as connection:
        for mark in (MoveMark(place), MoveMark(place, is_copy=True), None):
            set_move_mark(connection, mark)
            assert move_mark(connection) == mark
