"""The points of a process at which it is killed: before and after each kind of commit.

A commit is named by what its transaction wrote, as the public events of SQLAlchemy tell it.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Set as AbstractSet
from typing import Any, Final

from sqlalchemy import Connection, Engine, Pool, event

COMMITS: Final = {
    "deliveries": "a mark",
    "rejections": "a rejection",
    "suggested_gas_fees": "fees",
    "installation": "a lease",
    "outbox": "new notifications",
    "notifications": "a claim",
    "leases": "a renewal",
    "api_key_uses": "counts of keys",
}
"""What is committed, by the first of these tables that the transaction wrote."""

_WRITE: Final = re.compile(
    r'\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM|COPY)\s+"?(\w+)', re.IGNORECASE
)
_WRITTEN: Final = "linewatch_tests_written"
_COMMITTED: Final = "linewatch_tests_committed"


def points_of(*commits: str) -> tuple[str, ...]:
    """Return the points before and after each of these commits."""
    assert set(commits) <= set(COMMITS.values())
    return tuple(f"{when} {commit}" for commit in commits for when in ("before", "after"))


def die_at(point: str) -> None:
    """Have this process end as a power cut would, as soon as it comes to the point."""

    def note(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if match := _WRITE.match(statement):
            connection.info.setdefault(_WRITTEN, set()).add(match[1].lower())

    def before(connection: Connection) -> None:
        committed = _name(connection.info.pop(_WRITTEN, frozenset()))
        if committed is not None:
            connection.info[_COMMITTED] = committed
            _die_if(point == f"before {committed}")

    def undone(connection: Connection) -> None:
        connection.info.pop(_WRITTEN, None)

    def after(_driver: object, record: Any) -> None:  # noqa: ANN401 - as SQLAlchemy hands it
        _die_if(point == f"after {record.info.pop(_COMMITTED, None)}")

    event.listen(Engine, "before_cursor_execute", note)
    event.listen(Engine, "commit", before)
    event.listen(Engine, "rollback", undone)
    event.listen(Pool, "checkin", after)


def _name(tables: AbstractSet[str]) -> str | None:
    return next((name for table, name in COMMITS.items() if table in tables), None)


def _die_if(is_there: bool) -> None:  # noqa: FBT001 - it reads as a sentence
    if is_there:
        os.kill(os.getpid(), signal.SIGKILL)
