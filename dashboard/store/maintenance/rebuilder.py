"""Whoever mends derived data: in small steps, each on record in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from sqlalchemy import Connection

from dashboard.domain.audit import Action, Actor
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.batching import Pace
from dashboard.store.engine.engine import Store

T = TypeVar("T")


class Mender:
    """Mends a store that others go on using, in the name of somebody."""

    def __init__(self, store: Store, by: Actor) -> None:
        """Mend this store."""
        self._store = store
        self._by = by

    def looking(self) -> AbstractContextManager[Connection]:
        """Open a transaction that only reads."""
        return self._store.read()

    def mend(
        self, what: str, found: Sequence[T], act: Callable[[Connection, Sequence[T]], int]
    ) -> int:
        """Act on what was found, a few in each transaction; return how many were mended.

        `act` looks again at what it is given, since others may have written, and tells how many
        it mended. Each transaction is on disk when it ends, since the numbers that it gives to
        cohorts must not be given again.
        """

        def noted(connection: Connection, some: Sequence[T]) -> int:
            many = act(connection, some)
            if many:
                by = self._by
                note_action(connection, by.at, by.name, Action.MEND, what, {"mended": many})
            return many

        pace = Pace(rows=20, awaits_disk=True)
        return sum(pace.in_steps(self._store, found, noted))
