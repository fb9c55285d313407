"""Moves that kill themselves: `python -m tests.unit.store.killed_move`.

Each line of standard input, "SOURCE TARGET COMMIT WHEN", starts one, which ends as a power cut
would: "before" or "after" so manieth of the commits that move a store, or in the middle of copying,
where COMMIT is 0. Its exit code is answered in a line. All are forked from here, so that Linewatch
is imported once.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from sqlalchemy import Connection, Engine, Pool, event

from dashboard.domain.people.access import Actor
from dashboard.store.maintenance.move import move
from tests.builders import A_MOMENT

_WRITES = ("INSERT", "UPDATE", "COPY")
_COPYING = ("INTO", "sqlite_sequence")
_COPIED = 5
"""Statements with such words after which a copy is half done."""


def main() -> None:
    """Fork a move for each line."""
    for line in sys.stdin:
        source, target, commit, when = line.split()
        pid = os.fork()
        if pid == 0:
            die_while_moving(source, target, int(commit), when)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - how the parent hears it


def die_while_moving(source: str, target: str, commit: int, when: str) -> None:
    """Move until the end comes."""
    commits, statements = count(1), count(1)

    def note(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith(_WRITES):
            connection.info["writes"] = True
        is_copying = any(word in statement for word in _COPYING)
        if commit == 0 and is_copying and next(statements) == _COPIED:
            die()

    def before(connection: Connection) -> None:
        if not connection.info.pop("writes", False):
            return
        number = next(commits)
        if number == commit and when == "before":
            die()
        connection.info["number"] = number

    def after(_driver: object, record: object) -> None:
        number = getattr(record, "info", {}).pop("number", None)
        if number == commit and when == "after":
            die()

    event.listen(Engine, "before_cursor_execute", note)
    event.listen(Engine, "commit", before)
    event.listen(Pool, "checkin", after)
    move(source, target, Actor("operator", A_MOMENT))


def die() -> None:
    """End as a power cut would: nothing is flushed, closed or told."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
