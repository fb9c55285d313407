"""The right to work: one worker has it, the others stand by; and the clocks that terms go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from dashboard.domain.quantity import Clock, NetworkId
from dashboard.errors import LinewatchError
from dashboard.store.engine import leases
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.database import PATIENCE
from dashboard.store.engine.engine import Store, check_schema
from dashboard.store.monitoring.answer_counts import note_transports, record_answer_counts
from dashboard.store.monitoring.upkeep import record_credits
from dashboard.upstream.endpoint import Meter, Metered


class LeaseLost(LinewatchError):
    """Another worker may be at work: nothing more is written by this one."""


@dataclass(slots=True)
class Term:
    """The time for which a worker has the lease, with its fencing token; it ends at `ends_at`.

    That is counted from before the store was asked, so the store never ends it first.
    """

    name: str
    token: int
    ends_at: timedelta
    elapsed: Callable[[], timedelta]

    def lasts(self) -> bool:
        """Whether the term lasts, as far as this process knows; asks no store."""
        return self.elapsed() < self.ends_at

    def check(self, connection: Connection) -> None:
        """Raise LeaseLost, which undoes the transaction, unless the term still lasts."""
        holder = leases.holder(connection, self.name)
        if holder is None or holder.token != self.token:
            raise LeaseLost(f"this worker no longer holds the lease {self.name}")


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that this process applies for as `holder`, a name that no other process has.

    `elapsed` is a time that goes on while the machine sleeps, as that by which leases run out.
    """

    store: Store
    name: str
    holder: str
    duration: timedelta
    elapsed: Callable[[], timedelta]

    def acquire(self) -> Term | None:
        """Begin a term, or return None while another process is in office.

        StoreUnavailable if another process writes for longer than a quarter of the lease. If that
        process has stopped, a later try ends its transaction, where the database can tell.

        SchemaMismatch, saying which, where another version of Linewatch migrated the store since.
        """
        ends_at = self.elapsed() + self.duration
        self.store.end_stalled_writer(self.duration / 2)
        with self.store.write(min(self.duration / 4, PATIENCE)) as connection:
            check_schema(connection)
            token = leases.acquire(connection, self.name, self.holder, self.duration)
        return None if token is None else Term(self.name, token, ends_at, self.elapsed)

    def current_holder(self) -> str | None:
        """Return the name of the process that holds the lease now, if one does."""
        with self.store.read() as connection:
            found = leases.holder(connection, self.name)
        return None if found is None else found.name

    def renew(self, term: Term) -> None:
        """Prolong a term; LeaseLost where it has ended."""
        ends_at = self.elapsed() + self.duration
        with self.store.renew() as connection:
            if not leases.renew(connection, self.name, term.token, self.duration):
                term.ends_at = timedelta()
                raise LeaseLost(f"the lease {self.name} expired or was taken over")
        term.ends_at = ends_at

    def release(self, term: Term) -> None:
        """End a term, so that a standby need not wait for its end."""
        term.ends_at = timedelta()
        with self.store.write() as connection:
            leases.release(connection, self.name, term.token)


@dataclass(frozen=True, slots=True)
class NetworkStore:
    """The store during one term of the lease; `meter` counts what the polls ask upstream."""

    store: Store
    network_id: NetworkId
    term: Term
    meter: Meter = field(default_factory=Meter)

    def read(self) -> AbstractContextManager[Connection]:
        """Read from one snapshot."""
        return self.store.read()

    @contextmanager
    def write(self, asked_at: datetime) -> Iterator[Connection]:
        """Write answers in one transaction, with what they cost and what became of the questions.

        Raises StoreError, or LeaseLost where another worker has the lease: nothing is written then.
        """
        with self.meter.handed_over() as metered, self.store.write() as connection:
            self.term.check(connection)
            record_metered(connection, self.network_id, asked_at, metered)
            yield connection


def record_metered(
    connection: Connection, network_id: NetworkId, asked_at: datetime, metered: Metered
) -> None:
    """Write what asking a network cost, what became of the questions, and how it takes them."""
    record_credits(connection, network_id, asked_at, metered.spent)
    record_answer_counts(connection, network_id, asked_at, metered.answers)
    states = {endpoint: each.values() for endpoint, each in metered.transports.items()}
    note_transports(connection, network_id, states)


LARGEST_DRIFT: Final = timedelta(seconds=2)
"""Between two readings; more is a clock that was set, not one that is being corrected."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """`now` is the time of day, which people and time servers set; `elapsed` only goes on.

    Everything that waits, waits by `elapsed`, so that a clock set wrong strands nothing.
    """

    now: Clock
    elapsed: Callable[[], timedelta]

    def elapsed_at(self, moment: datetime) -> timedelta:
        """Return what `elapsed` said, or will say, at a time of day, as both clocks stand now."""
        return self.elapsed() - (self.now() - moment)

    @property
    def offset(self) -> timedelta:
        """How far the time of day is ahead of what `elapsed` says."""
        return self.now() - datetime.fromtimestamp(0, UTC) - self.elapsed()


@dataclass(slots=True)
class SetClock:
    """Notices that the time of day was set: what seems to last since before may not.

    `since` is when that was noticed last, or when this began while `was_set` is off.
    """

    clocks: Clocks
    since: datetime = field(init=False)
    was_set: bool = field(init=False, default=False)
    _offset: timedelta = field(init=False)

    def __post_init__(self) -> None:
        self._offset, self.since = self.clocks.offset, self.clocks.now()

    def check(self) -> timedelta:
        """Return by how much the clock was set since the last check; zero if it was not."""
        before, self._offset = self._offset, self.clocks.offset
        if abs(self._offset - before) <= LARGEST_DRIFT:
            return timedelta()
        self.was_set, self.since = True, self.clocks.now()
        return self._offset - before

    def trusted(self, moment: datetime) -> datetime:
        """Return a moment of the past, but none from before the clock was set."""
        return max(moment, self.since) if self.was_set else moment
