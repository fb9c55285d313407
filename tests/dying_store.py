"""A store that kills its process at a commit, as a power cut would."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.flaky_store import PassingStore


def die() -> None:
    """End as a power cut would: nothing is flushed, closed or told."""
    os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(PassingStore):
    """The same store, in which the process dies "before" or "after" one commit, counted from 1."""

    def __init__(self, store: Store, commit: int, when: str) -> None:
        """Wait for the commit."""
        super().__init__(store)
        self._commit = commit
        self._when = when
        self._commits = 0

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Write, unless the end comes first."""
        self._commits += 1
        with super().write() as connection:
            yield connection
            self._die_if("before")
        self._die_if("after")

    def _die_if(self, when: str) -> None:
        if (self._commits, when) == (self._commit, self._when):
            die()
