"""A move that kills itself: `python -m tests.unit.store.killed_move SOURCE TARGET COMMIT WHEN`.

It ends as a power cut would, "before" or "after" so manieth of the commits that move a store, or
in the middle of copying, where COMMIT is 0.
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


def main(source: str, target: str, commit: int, when: str) -> None:
    """Move until the end comes."""
    commits, statements = count(1), count(1)

    def note(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith(_WRITES):
            connection.info["writes"] = True
        is_copying = any(word in statement for word in _COPYING)
        if commit == 0 and is_copying and next(statements) == _COPIED:
            _die()

    def before(connection: Connection) -> None:
        if not connection.info.pop("writes", False):
            return
        number = next(commits)
        if number == commit and when == "before":
            _die()
        connection.info["number"] = number

    def after(_driver: object, record: object) -> None:
        number = getattr(record, "info", {}).pop("number", None)
        if number == commit and when == "after":
            _die()

    event.listen(Engine, "before_cursor_execute", note)
    event.listen(Engine, "commit", before)
    event.listen(Pool, "checkin", after)
    move(source, target, Actor("operator", A_MOMENT))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
