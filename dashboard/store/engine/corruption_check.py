"""Whether a SQLite file can be a whole store: found within a second, however large it is.

Only SQLite looks at the file. A process that opens and closes it itself releases all locks that
its own connections hold (https://www.sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import re
import sqlite3
import threading
from datetime import timedelta
from typing import Final

PRIMARY: Final = 0xFF
"""SQLite's extended codes hold the primary one in their lowest byte."""

DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_ERROR_CODE: Final = re.compile(r"error code=(\d+)")
"""What SQLite's checks say of a page that they could not read."""

_CONDITION: Final = re.compile(r"\sWHERE\s(.*)$", re.IGNORECASE | re.DOTALL)


def find_corruption(connection: sqlite3.Connection, longest: timedelta) -> str | None:
    """Read the schema and the way into every table and index, then pages for at most `longest`.

    Returns what is wrong in a few words, None where nothing shows. sqlite3.Error where the file
    cannot be read for another reason.
    """
    try:
        for statement in _ways_in(connection):
            connection.execute(statement).fetchone()
        return _quick_check(connection, longest) if longest else None
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & PRIMARY not in DAMAGED:
            raise
        is_no_database = error.sqlite_errorcode & PRIMARY == sqlite3.SQLITE_NOTADB
        return "the file is no SQLite database" if is_no_database else str(error)


def raise_if_unread(complaint: str) -> None:
    """Raise the driver's error if a check complains of a page that the disk did not give it."""
    found = _ERROR_CODE.search(complaint)
    if found is None or int(found[1]) & PRIMARY in DAMAGED:
        return
    error = sqlite3.OperationalError(complaint)
    error.sqlite_errorcode = int(found[1])
    raise error


def _ways_in(connection: sqlite3.Connection) -> list[str]:
    """Return statements that walk from the root of each table and index to its first entry."""
    schema = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    ways = []
    for kind, name, table, sql in schema:
        if kind == "table":
            ways.append(f'SELECT 1 FROM "{table}" NOT INDEXED LIMIT 1')  # noqa: S608 - a name of the schema
        elif kind == "index":
            condition = _CONDITION.search(sql or "")
            where = f"WHERE {condition[1]}" if condition else ""
            ways.append(f'SELECT 1 FROM "{table}" INDEXED BY "{name}" {where} LIMIT 1')  # noqa: S608 - a name of the schema
    return ways


def _quick_check(connection: sqlite3.Connection, longest: timedelta) -> str | None:
    """Let SQLite read page after page, 500 MB a second, until it is done or time is up."""
    clock = threading.Timer(longest.total_seconds(), connection.interrupt)
    clock.start()
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return None
        raise
    finally:
        clock.cancel()
    if found == "ok":
        return None
    complaint = " ".join(str(found).split())
    raise_if_unread(complaint)
    return complaint
