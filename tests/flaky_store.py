"""Stores that stand before the real one, such as one that refuses a write when it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from dashboard.errors import StoreUnavailable
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store


class PassingStore(Store):
    """Works as the store behind it does; a test changes some of that."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._store.read() as connection:
            yield connection

    @contextmanager
    def write(self, patience: timedelta | None = None) -> Iterator[Connection]:
        with self._store.write(patience) as connection:
            yield connection

    @contextmanager
    def renew(self) -> Iterator[Connection]:
        """Prolong a lease."""
        with self._store.renew() as connection:
            yield connection

    def end_stalled_writer(self, longest: timedelta) -> None:
        """End what the store would end."""
        self._store.end_stalled_writer(longest)


class FlakyStore(PassingStore):
    """The same store, which refuses one write when it is told to."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._writes_until_failure: int | None = None

    def fail_after(self, writes: int) -> None:
        """Let so many writes pass, then refuse one."""
        self._writes_until_failure = writes

    @property
    def is_calm(self) -> bool:
        """Whether it has refused what it was told to."""
        return self._writes_until_failure is None

    @contextmanager
    def write(self, patience: timedelta | None = None) -> Iterator[Connection]:
        """Refuse before anything is written, or write."""
        if self._writes_until_failure == 0:
            self._writes_until_failure = None
            raise StoreUnavailable("the disk is full")
        if self._writes_until_failure is not None:
            self._writes_until_failure -= 1
        with super().write(patience) as connection:
            yield connection
