"""Rebuilds that kill themselves: `python -m tests.unit.store.killed_rebuild URL`.

Each line of standard input, "COMMIT WHEN", starts one, which is killed (-9) "before" or "after"
that commit, counted from 1. Its exit code is answered in a line. All are forked from here, so that
Linewatch is imported once.
"""

from __future__ import annotations

import os
import sys

from dashboard.domain.people.access import Actor
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.rebuild import rebuild
from tests.builders import A_MOMENT
from tests.dying_store import DyingStore


def main(url: str) -> None:
    """Fork a rebuild for each line."""
    for line in sys.stdin:
        commit, when = line.split()
        pid = os.fork()
        if pid == 0:
            with open_store(url) as store:
                rebuild(DyingStore(store, int(commit), when), Actor("operator", A_MOMENT))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - how the parent hears it


if __name__ == "__main__":
    main(sys.argv[1])
