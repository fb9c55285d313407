"""The lease by which one worker works while the others stand by; and the clocks of its terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from msgspec import Struct

from dashboard.domain.quantity import Clock, NetworkId
from dashboard.errors import LinewatchError
from dashboard.store.engine import leases
from dashboard.store.engine.connection import PATIENCE, Connection
from dashboard.store.engine.engine import Store, check_schema
from dashboard.store.monitoring.answer_counts import note_transports, record_answer_counts
from dashboard.store.monitoring.upkeep import record_credits
from dashboard.upstream.endpoint import Meter, Metered


class LeaseLost(LinewatchError):
    """Another worker may be active: this one writes nothing more."""


class Term(Struct):
    """The time for which a worker has the lease, with its fencing token; it ends at `ends_at`.

    That counts from before the store was asked, so the store never ends it first.
    """

    name: str
    token: int
    ends_at: timedelta
    elapsed: Callable[[], timedelta]

    def lasts(self) -> bool:
        """Whether the term lasts, as far as this process knows; does not ask the store."""
        return self.elapsed() < self.ends_at

    def check(self, connection: Connection) -> None:
        """Raise LeaseLost, which undoes the transaction, unless the term still lasts."""
        holder = leases.holder(connection, self.name)
        if holder is None or holder.token != self.token:
            raise LeaseLost(f"this worker no longer holds the lease {self.name}")


class Lease(Struct, frozen=True):
    """A lease for which this process applies as `holder`, a name that no other process has.

    `elapsed` goes on while the machine sleeps, as does the clock by which leases expire.
    """

    store: Store
    name: str
    holder: str
    duration: timedelta
    elapsed: Callable[[], timedelta]

    def acquire(self) -> Term | None:
        """Begin a term, or return None while another process holds the lease.

        StoreUnavailable if another process writes for longer than a quarter of the lease. If that
        process has stopped, a later try ends its transaction, if the database can tell.

        SchemaMismatch, naming both, if another version of Linewatch has migrated the store since.
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
        """Renew a term; LeaseLost if it has ended."""
        ends_at = self.elapsed() + self.duration
        with self.store.renew() as connection:
            if not leases.renew(connection, self.name, term.token, self.duration):
                term.ends_at = timedelta()
                raise LeaseLost(f"the lease {self.name} expired or was taken over")
        term.ends_at = ends_at

    def release(self, term: Term) -> None:
        """End a term, so that a standby need not wait for it to expire."""
        term.ends_at = timedelta()
        with self.store.write() as connection:
            leases.release(connection, self.name, term.token)


class NetworkStore(Struct, frozen=True):
    """The store during one term of the lease; `meter` counts what the polls ask upstream."""

    store: Store
    network_id: NetworkId
    term: Term
    meter: Meter = msgspec.field(default_factory=Meter)

    def read(self) -> AbstractContextManager[Connection]:
        """Read from one snapshot."""
        return self.store.read()

    @contextmanager
    def write(self, asked_at: datetime) -> Iterator[Connection]:
        """Write answers in one transaction, with their cost and the results of the questions.

        Raises StoreError, or LeaseLost if another worker has the lease: nothing is written then.
        """
        with self.meter.handed_over() as metered, self.store.write() as connection:
            self.term.check(connection)
            record_metered(connection, self.network_id, asked_at, metered)
            yield connection


def record_metered(
    connection: Connection, network_id: NetworkId, asked_at: datetime, metered: Metered
) -> None:
    """Record what asking a network cost, the results of the questions, and its transports."""
    record_credits(connection, network_id, asked_at, metered.spent)
    record_answer_counts(connection, network_id, asked_at, metered.answers)
    states = {endpoint: each.values() for endpoint, each in metered.transports.items()}
    note_transports(connection, network_id, states)


LARGEST_DRIFT: Final = timedelta(seconds=2)
"""Between two readings; a larger difference means that the clock was set, not corrected."""


class Clocks(Struct, frozen=True):
    """`now` is the time of day, which people and time servers set; `elapsed` only goes on.

    Everything that waits uses `elapsed`, so that a clock set wrong strands nothing.
    """

    now: Clock
    elapsed: Callable[[], timedelta]

    def elapsed_at(self, moment: datetime) -> timedelta:
        """Return what `elapsed` was, or will be, at a time of day, as both clocks are now."""
        return self.elapsed() - (self.now() - moment)

    def elapsed_since(self, moment: datetime) -> timedelta:
        """Return the same of a past moment; now, if a clock that was ahead told it."""
        return min(self.elapsed_at(moment), self.elapsed())

    @property
    def offset(self) -> timedelta:
        """How far the time of day is ahead of `elapsed`."""
        return self.now() - datetime.fromtimestamp(0, UTC) - self.elapsed()


@dataclass(slots=True)
class SetClock:
    """Notices that the time of day was set: durations measured across that are not trusted.

    `since` is when that was last noticed, or when this began while `was_set` is off.
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
        """Return a past moment, or the moment when the clock was set if that is later."""
        return max(moment, self.since) if self.was_set else moment
