"""A rebuild may be killed at any commit: each part is old or new, and the same again completes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeAlias

import pytest
from sqlalchemy import func, select, text

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import save_polled
from dashboard.store.maintenance.rebuild import Rebuilt, rebuild
from dashboard.store.maintenance.verify import broken_pages, broken_references, verify
from dashboard.store.polled_gas import save_gas
from dashboard.store.schema import audit_log
from dashboard.store.tracking.transactions import track_all
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, seconds
from tests.processes import PROJECT
from tests.unit.store.filled_store import content_of
from tests.unit.store.maintenance.test_rebuild import COUNTED, derived, spoil

BY = Actor("operator", A_MOMENT)
LATER = timedelta(days=10)
"""Beyond the days of a series that one transaction rebuilds."""

DAMAGE = (
    "UPDATE rejection_days SET many = many + 3",
    "DELETE FROM tracked_labels",
    "UPDATE cohorts SET size = 77",
    "UPDATE watched_cohorts SET is_rejected = true",
    "UPDATE fee_rollups SET median = median + 1 WHERE level = 1",
    "DELETE FROM fee_rollups WHERE level = 3",
)
"""Several statements for most parts, so that one half of a part could be new without the other."""

Parts: TypeAlias = dict[str, list[object]]
"""The rows of what one transaction rebuilds, by its name."""

Kill: TypeAlias = Callable[[int, str], int]
"""Rebuild in another process until a commit, and before or after it; return the exit code."""


@pytest.fixture
def lived(store: Store) -> Store:
    """Return a store with tracked hashes, a rejection of one, and one series of fees."""
    with store.write() as connection:
        for offset in (0, 20, 3600):
            for at in (A_MOMENT, A_MOMENT + LATER):
                seen = GasObservation(
                    A_NETWORK, at + seconds(offset), base_fee_percentile=Wei(1000 + offset)
                )
                save_gas(connection, seen, block_time=seconds(2))
        requests = [TrackRequest(a_hash(each), (A_NETWORK,), None, "vault") for each in range(4)]
        track_all(connection, requests, A_MOMENT)
        save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(0)), A_MOMENT)
    return store


@contextmanager
def rebuilder(url: str) -> Iterator[Kill]:
    """Yield what rebuilds the store in processes that are killed."""
    command = [sys.executable, "-m", "tests.unit.store.killed_rebuild", url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        given, answers = process.stdin, process.stdout

        def kill(commit: int, when: str) -> int:
            print(commit, when, file=given, flush=True)
            return int(next(answers))

        yield kill


def parts_of(store: Store) -> Parts:
    """Return what each transaction of a rebuild replaces."""
    of = derived(store)
    parts = defaultdict[str, list[object]](list)
    parts["counters"] = [of[name] for name in sorted(COUNTED - {"tracked_labels", "fee_rollups"})]
    parts["labels"] = [of["tracked_labels"]]
    parts["cohorts"] = [of["cohorts"], of["watched_cohorts"]]
    later = (A_MOMENT + LATER / 2).timestamp() * 1000
    with store.read() as connection:
        query = "SELECT * FROM fee_rollups ORDER BY network_id, series, level, begins_at"
        for row in connection.execute(text(query)):
            when = "later" if row.begins_at > later else "first"
            parts[f"{when} days of series {row.series} of network {row.network_id}"].append(row)
    return dict(parts)


def rebuilds_on_record(store: Store) -> int:
    """Count the entries of rebuilds in the audit log."""
    query = select(func.count()).where(audit_log.c.action == Action.REBUILD)
    with store.read() as connection:
        return connection.scalar(query) or 0


def check_whole_or_old(store: Store, old: Parts, whole: Parts) -> int:
    """Fail where a page or a reference is broken, or a part is half new; count the new ones."""
    with store.read() as connection:
        assert [*broken_pages(connection, is_quick=False), *broken_references(connection)] == []
    found = parts_of(store)
    new = {name for name in whole if found[name] == whole[name]}
    assert [name for name in whole if name not in new and found[name] != old[name]] == []
    return len(new)


def check_completed(store: Store, whole: Parts) -> None:
    """Rebuild again: nothing is wrong afterwards, and a further time changes nothing."""
    rebuild(store, BY)
    with store.read() as connection:
        assert list(verify(connection)) == []
    assert parts_of(store) == whole
    content = content_of(store)
    assert rebuild(store, BY) == Rebuilt([], 0)
    assert content_of(store) == content


def test_rebuild_that_is_killed_at_any_commit_leaves_each_part_old_or_new_and_completes_again(
    lived: Store, url: str
) -> None:
    whole = parts_of(lived)
    assert len(whole) == 5
    with rebuilder(url) as kill:
        for commit in range(1, len(whole) + 1):
            for done, when in ((commit - 1, "before"), (commit, "after")):
                spoil(lived, *DAMAGE)
                old, on_record = parts_of(lived), rebuilds_on_record(lived)
                assert [name for name in whole if old[name] == whole[name]] == []

                assert kill(commit, when) == -signal.SIGKILL

                assert check_whole_or_old(lived, old, whole) == done, f"{when} commit {commit}"
                assert rebuilds_on_record(lived) == on_record + done
                check_completed(lived, whole)
        spoil(lived, *DAMAGE)
        assert kill(len(whole) + 1, "before") == 0, "a rebuild commits more than its parts"
    check_completed(lived, whole)
