"""A process may die at any moment: what it acknowledged is there, and nothing half done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from dashboard.domain.alerts.condition import State, Subject
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import current_state
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import open_store
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_hash, seconds
from tests.one_by_one import read_evidence
from tests.unit.store.killed_writer import ACKNOWLEDGED_FIRST


@contextmanager
def a_writer(url: str, *arguments: str) -> Iterator[IO[str]]:
    """Yield what a writing process says; kill -9 it at the end."""
    command = [sys.executable, "-m", "tests.unit.store.killed_writer", url, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()


def numbers_found(url: str) -> list[int]:
    """Return the numbers of the transactions that are stored whole; fail on half a one."""
    with open_store(url, patience=seconds(1)) as store, store.read() as connection:
        stored = [
            int.from_bytes(entry.transition.subject.tx_hash or b"", "big")
            for entry in pending_expansion(connection, 10**6)
        ]
        for number in [*stored, max(stored, default=0) + 1]:
            is_whole = number in stored
            known = read_evidence(connection, A_NETWORK, a_hash(number))
            held = current_state(connection, Subject.transaction(A_NETWORK, a_hash(number)))
            assert [len(each.records) for each in known] == [1] * is_whole
            assert held is (State.REJECTED if is_whole else None)
    return stored


def test_killed_between_statements_leaves_no_half_transaction_and_no_lock(url: str) -> None:
    with a_writer(url, "2") as said:
        acknowledged = [next(said) for _ in range(ACKNOWLEDGED_FIRST)]
        assert next(said) == "inside\n"

    assert numbers_found(url) == [int(each) for each in acknowledged]
    with open_store(url, patience=seconds(1)) as store, store.write() as connection:
        assert track(connection, TrackRequest(a_hash(), (A_NETWORK,)), A_MOMENT)


def test_killed_at_full_speed_loses_nothing_acknowledged(url: str) -> None:
    with a_writer(url) as said:
        acknowledged = [int(next(said)) for _ in range(20)]

    found = numbers_found(url)

    assert found[: len(acknowledged)] == acknowledged
    assert found == list(range(1, len(found) + 1))
