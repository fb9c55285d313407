"""A streaming replica that answers questions while it is known to be recent enough.

The replica alone cannot tell how old its answers are: if it is cut off, it looks like one whose
primary is idle. So a thread keeps asking the primary how far its log reaches, and the replica how
far it has come. Once the replica has passed a position, it contains everything that was committed
before the primary was asked for it. That is measured by the clock of this process alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import timedelta
from math import inf
from threading import Event, Thread
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Engine

from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.store.engine.connection import Database
from dashboard.store.engine.database import DriverReader, store_errors

_LONGEST_PERIOD: Final = 0.25
"""Seconds between two questions; less if the replica may only be a little behind."""

_LONGEST_GOODBYE: Final = 1.0

_WRITTEN: Final = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint, "
    "system_identifier, oid::bigint "
    "FROM pg_control_system(), pg_database WHERE datname = current_database()"
)
_REPLAYED: Final = (
    "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint, "
    "system_identifier, oid::bigint, "
    "pg_is_in_recovery(), EXISTS (SELECT FROM pg_stat_wal_receiver) "
    "FROM pg_control_system(), pg_database WHERE datname = current_database()"
)

_log = get_logger(__name__)


class ReplicaState(Struct, frozen=True):
    """The state of a replica: its answers miss at most what was saved in the last `behind`.

    `behind` is None if that is not known; then, or beyond `largest`, the primary answers, and
    `trouble` says why.
    """

    largest: timedelta
    behind: timedelta | None
    trouble: str = ""

    @property
    def is_used(self) -> bool:
        return self.behind is not None and self.behind <= self.largest


class Replica:
    """Answers questions whose answers may be as old as `largest`, always with our own writes."""

    def __init__(
        self,
        primary: DriverReader,
        database: Database,
        engine: Engine,
        largest: timedelta,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask through `engine`, which reads `database`, a replica of what `primary` reads."""
        self._primary = primary
        self._database = database
        self._engine = engine
        self._reader = DriverReader(engine, database)
        self._largest = largest
        self._seconds = seconds
        self._period = min(_LONGEST_PERIOD, largest.total_seconds() / 8)
        # Those that it has not passed, back to where it would be too far behind.
        most = int(largest.total_seconds() / self._period) + 8
        self._positions: deque[tuple[float, int]] = deque(maxlen=most)
        self._current_at = -inf
        self._written_at = -inf
        self._trouble = ""
        self._was_used: bool | None = None
        self._is_closing = Event()
        # In our context, from which the log takes the role.
        self._thread = Thread(
            target=copy_context().run, args=(self._watch,), name="replica", daemon=True
        )

    def start(self) -> None:
        """Check the replica once, then keep checking it."""
        self.check()
        self._thread.start()

    def close(self) -> None:
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join(_LONGEST_GOODBYE)
        self._engine.dispose()

    def note_write(self) -> None:
        """Answer nothing until the replica has what this process saved before this call."""
        self._written_at = self._seconds()

    @property
    def may_answer(self) -> bool:
        """Whether an answer begun now is recent enough, and contains what this process saved."""
        return self._current_at > self._written_at and self.state().is_used

    def state(self) -> ReplicaState:
        behind = self._seconds() - self._current_at
        known = None if behind == inf else timedelta(seconds=behind)
        state = ReplicaState(self._largest, known)
        if state.is_used:
            return state
        late = f"{self._database.name} does not keep up with its primary"
        return replace(state, trouble=self._trouble or late)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one moment; StoreUnavailable if it cannot be read now.

        After an error the primary answers until the replica has shown again how far it is.
        """
        try:
            with store_errors(self._database), self._engine.begin() as connection:
                yield connection
        except StoreError:
            self._current_at = -inf
            raise

    def check(self) -> None:
        """Find out how far the replica is; its trouble is kept, and logged when it changes."""
        try:
            self._trouble = self._compare()
        except StoreError as error:  # what it held a moment ago, it still does
            self._trouble = str(error)
        else:
            if self._trouble:
                self._current_at = -inf
        state = self.state()
        if state.is_used is not self._was_used:
            self._was_used = state.is_used
            if state.is_used:
                _log.info("the replica answers questions")
            else:
                _log.warning("the primary answers instead of the replica", why=state.trouble)

    def _compare(self) -> str:
        """Record until when the replica has everything; return why it must not be asked."""
        asked_at = self._seconds()
        [(written, *primary)] = self._primary.rows(_WRITTEN, ())
        self._positions.append((asked_at, written))
        [(replayed, *replica, is_replica, is_streaming)] = self._reader.rows(_REPLAYED, ())
        if not is_replica:
            return f"{self._database.name} is not a replica: it accepts writes of its own"
        if replica != primary:
            return f"{self._database.name} is a replica of another database than store.url names"
        if not is_streaming:
            return f"{self._database.name} is cut off from its primary"
        while self._positions and self._positions[0][1] <= replayed:
            self._current_at, _ = self._positions.popleft()
        return ""

    def _watch(self) -> None:
        while not self._is_closing.wait(self._period):
            self.check()
        self._primary.close()
        self._reader.close()
