"""The database's errors, turned into ours at the edge of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dashboard.errors import StoreError, StoreUnavailable

_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY: Final = sqlite3.SQLITE_BUSY
_REMEDIES: Final = {
    _BUSY: "somebody else has been writing for too long; try again",
    sqlite3.SQLITE_FULL: "free some space on its disk",
    sqlite3.SQLITE_IOERR: "look after its disk",
    sqlite3.SQLITE_READONLY: "give this user the right to write it and its folder",
    sqlite3.SQLITE_PERM: "give this user the right to read and write it and its folder",
    sqlite3.SQLITE_CANTOPEN: "give this user the right to read and write it and its folder",
}
_PRIMARY: Final = 0xFF
"""SQLite's extended codes hold the primary one in their lowest byte."""


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """Raise StoreError trees for whatever the database raises; `name` says which store."""
    try:
        yield
    except DBAPIError as error:
        raise translated(name, error.orig) from error
    except PoolTimeout as error:
        raise StoreUnavailable(f"{name} cannot be used now: {_REMEDIES[_BUSY]}") from error
    except StatementError as error:
        # Not the database's refusal but a value of ours that it cannot keep: a mistake in code.
        raise error.orig or error from error


def translated(name: str, error: BaseException | None) -> StoreError:
    """Return the error of ours that stands for one of the driver."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    if code in _DAMAGED:
        return StoreError(
            f"{name} is damaged or is no store of Linewatch ({error}): restore a backup, "
            "or move the file away to begin anew"
        )
    if code in _REMEDIES:
        return StoreUnavailable(f"{name} cannot be used now ({error}): {_REMEDIES[code]}")
    return StoreError(f"{name} refused what was asked ({error})")
