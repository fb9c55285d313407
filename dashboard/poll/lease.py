"""The right to work: one worker has it, the others stand by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from dashboard.errors import LinewatchError
from dashboard.store import leases
from dashboard.store.connection import Connection
from dashboard.store.engine import Store


class LeaseLost(LinewatchError):
    """Another worker may be at work: nothing more is written by this one."""


@dataclass(frozen=True, slots=True)
class Term:
    """A time in office, told from all others by its fencing token."""

    name: str
    token: int

    def check(self, connection: Connection) -> None:
        """Raise LeaseLost, which undoes the transaction, unless the term still lasts."""
        holder = leases.holder(connection, self.name)
        if holder is None or holder.token != self.token:
            raise LeaseLost(f"the lease {self.name} is not ours any more")


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that this process applies for as `holder`, a name that no other process has."""

    store: Store
    name: str
    holder: str
    duration: timedelta

    def acquire(self) -> Term | None:
        """Begin a term, or return None while another process is in office."""
        with self.store.write() as connection:
            token = leases.acquire(connection, self.name, self.holder, self.duration)
        return None if token is None else Term(self.name, token)

    def in_office(self) -> str | None:
        """Return the name of the process that holds the lease now, if one does."""
        with self.store.read() as connection:
            found = leases.holder(connection, self.name)
        return None if found is None else found.name

    def renew(self, term: Term) -> None:
        """Prolong a term; LeaseLost where it has ended."""
        with self.store.write() as connection:
            if not leases.renew(connection, self.name, term.token, self.duration):
                raise LeaseLost(f"the lease {self.name} ran out or was taken over")

    def release(self, term: Term) -> None:
        """End a term, so that a standby need not wait for its end."""
        with self.store.write() as connection:
            leases.release(connection, self.name, term.token)
