"""The right to work: one worker has it, the others stand by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from dashboard.errors import LinewatchError
from dashboard.store.engine import leases
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store


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
        """Begin a term, or return None while another process is in office."""
        ends_at = self.elapsed() + self.duration
        with self.store.write() as connection:
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
