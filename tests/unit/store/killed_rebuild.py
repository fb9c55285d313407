"""Rebuilds that kill themselves: `python -m tests.unit.store.killed_rebuild URL`.

Each line of standard input, "COMMIT WHEN", starts one, which is killed (-9) "before" or "after"
that commit, counted from 1. Its exit code is answered in a line. All are forked from here, so that
Linewatch is imported once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.domain.audit import Actor
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.rebuild import rebuild
from tests.builders import A_MOMENT


class KillingStore(Store):
    """The same store, which kills its process before or after one commit."""

    def __init__(self, store: Store, commit: int, when: str) -> None:
        """Wait for the commit."""
        self._store = store
        self._commit = commit
        self._when = when
        self._commits = 0

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read."""
        with self._store.read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Write, unless the process is killed first."""
        self._commits += 1
        with self._store.write() as connection:
            yield connection
            self._kill_if("before")
        self._kill_if("after")

    def _kill_if(self, when: str) -> None:
        if (self._commits, when) == (self._commit, self._when):
            os.kill(os.getpid(), signal.SIGKILL)


def main(url: str) -> None:
    """Fork a rebuild for each line."""
    for line in sys.stdin:
        commit, when = line.split()
        pid = os.fork()
        if pid == 0:
            with open_store(url) as store:
                killing = KillingStore(store, int(commit), when)
                rebuild(killing, Actor("operator", A_MOMENT))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - how the parent hears it


if __name__ == "__main__":
    main(sys.argv[1])
