"""Stores in which many hashes are tracked, as one long list of them is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Final, NamedTuple

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.batching import portions
from dashboard.store.engine.engine import Store, database_of
from dashboard.store.evidence.record_answers import record_poll
from dashboard.store.tracking.cohorts import KnownHashes, read_cohorts, watched_after
from dashboard.store.tracking.transactions import track_all
from tests.bench.expected_replies import NETWORK

FILE: Final = "tracked.sqlite"
ONE_LIST: Final = 5000
"""Hashes of one transaction, as the command and the page write them."""

_NETWORK: Final = NetworkId(NETWORK)


class Taken(NamedTuple):
    """Seconds of the clock and of the processor."""

    wall: float
    cpu: float


def taken_by(work: Callable[[], object]) -> Taken:
    """Measure how long something takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Taken(time.perf_counter() - wall, time.process_time() - cpu)


def track_many(store: Store, numbers: range, now: datetime) -> Taken:
    """Track hashes that lie anywhere, on one network; tell what the store took for it."""
    wall = cpu = 0.0
    for some in portions(numbers, ONE_LIST):
        wishes = [TrackRequest(hash_of(number), (_NETWORK,)) for number in some]
        taken = taken_by(partial(_track, store, wishes, now))
        wall, cpu = wall + taken.wall, cpu + taken.cpu
    return Taken(wall, cpu)


def track_alone(store: Store, numbers: range, until: datetime) -> None:
    """Track hashes one by one over the day before `until`, so that none is due with another."""
    apart = timedelta(days=1) / len(numbers)
    for some in portions(numbers, ONE_LIST):
        with store.write() as connection:
            for number in some:
                wish = TrackRequest(hash_of(number), (_NETWORK,))
                track_all(connection, [wish], until - number * apart)


def _track(store: Store, wishes: Sequence[TrackRequest], now: datetime) -> None:
    with store.write() as connection:
        track_all(connection, wishes, now)


def answer_null(store: Store, now: datetime) -> None:
    """Ask about every hash once."""
    with store.read() as connection:
        cohort_ids = [each.cohort_id for each in watched_after(connection, _NETWORK, 0)]
    for some in portions(cohort_ids, 5):
        with store.write() as connection:
            cohorts = read_cohorts(connection, _NETWORK, some, KnownHashes())
            answers = [ExclusionAnswer(it) for each in cohorts for it in each.hashes]
            record_poll(connection, _NETWORK, now, cohorts, answers)


def size_of(store: Store) -> int:
    """Return the bytes of the store, what stands in the log included."""
    with store.read() as connection:
        return database_of(connection).size(connection)


def hash_of(number: int) -> TxHash:
    """Return a hash that lies anywhere."""
    return TxHash(sha256(b"tracked %d" % number).digest())
