"""Files of the store on disk: made safely, forced to disk, checked, deleted if unfinished.

Each has a lock in a file beside it: closing the file itself would release the locks that SQLite
holds on it. If the lock is free, its process has ended, since the system then releases its locks,
also after kill -9 or a power cut.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

_OWNER_ONLY: Final = 0o600
_OWNERS_FOLDER: Final = 0o700
FULL: Final = "its disk is full: free some space there"
"""What people are told about a folder for which `is_full` is true."""

_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SOME_ROOM: Final = 65_536
"""Bytes: a few reports make the log grow by less."""


def path_of(text: str) -> Path:
    """Return the path that a person wrote, of which ~ is the home folder.

    What can name no file, such as the folder of a user who does not exist, stays as it is: whoever
    opens it says so.
    """
    return Path(os.path.expanduser(text.replace("\0", r"\0")))  # noqa: PTH111 - that of Path raises


def force_to_disk(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_file(path: Path, content: bytes, unfinished: Path) -> None:
    """Write a file under another name, then move it into place: whole, or not at all."""
    try:
        unfinished.write_bytes(content)
        force_to_disk(unfinished)
        unfinished.replace(path)
        force_to_disk(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, closed to other users, unless they exist."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=_OWNERS_FOLDER, parents=True, exist_ok=True)
    for each in reversed(missing):
        force_to_disk(each.parent)


def make_file(path: Path) -> None:
    """Create an empty file, closed to other users; an existing file stays as it is.

    SQLite's files beside it get the same rights. An existing file is not even opened: closing it
    would release the locks that SQLite holds on it for this process.
    """
    led_to = path.resolve()
    try:
        os.close(os.open(led_to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY))
    except FileExistsError:
        return
    force_to_disk(led_to.parent)


def probe_space(folder: Path) -> None:
    """Write a little into a file without a name, which is gone at once; OSError if it is full."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_SOME_ROOM))


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder has too little room for a few reports, at least for our user."""
    try:
        probe_space(folder)
    except OSError as error:
        return error.errno in _NO_ROOM
    return False


PRIMARY: Final = 0xFF
"""SQLite's extended codes have the primary code in their lowest byte."""

DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_ERROR_CODE: Final = re.compile(r"error code=(\d+)")
"""What SQLite's checks say about a page that they could not read."""

_CONDITION: Final = re.compile(r"\sWHERE\s(.*)$", re.IGNORECASE | re.DOTALL)


def find_corruption(connection: sqlite3.Connection, longest: timedelta) -> str | None:
    """Read the schema and the root of every table and index, then pages for at most `longest`.

    Returns what is wrong in a few words, None if nothing shows. sqlite3.Error if the file cannot be
    read for another reason.
    """
    try:
        for statement in _ways_in(connection):
            connection.execute(statement).fetchone()
        return _quick_check(connection, longest) if longest else None
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & PRIMARY not in DAMAGED:
            raise
        is_no_database = error.sqlite_errorcode & PRIMARY == sqlite3.SQLITE_NOTADB
        return "the file is not an SQLite database" if is_no_database else str(error)


def raise_if_unread(complaint: str) -> None:
    """Raise the driver's error if a check complains of a page that the disk did not return."""
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
    """Let SQLite check page after page, 500 MB a second, until it is done or time is up."""
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


_LOCK: Final = ".lock"
_BESIDE: Final = ("-journal", "-wal", "-shm")
"""What SQLite may put beside a file; nothing of it is left after a complete copy."""

_OURS: Final = re.compile(r"\..+\.[0-9a-f]{8}\.(?:unfinished|part|restoring)\.lock")


@contextmanager
def unfinished_beside(path: Path, kind: str = "unfinished") -> Iterator[Path]:
    """Yield the path of a temporary file in the folder of `path`; it is deleted afterwards.

    The `kind` is unfinished, part or restoring. Leftovers of killed processes in that folder are
    deleted. OSError if no file can be created there.
    """
    delete_abandoned(path.parent)
    ours = path.with_name(f".{path.name}.{uuid4().hex[:8]}.{kind}")
    lock = ours.with_name(ours.name + _LOCK)
    descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    try:
        with suppress(OSError):  # a file system without locks: then none is ever cleared
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield ours
    finally:
        _delete_with_logs(ours)
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def is_of_database(path: Path) -> bool:
    """Whether SQLite keeps, or may keep, a file of this name beside the database."""
    return any(
        path.name.endswith(end) and path.with_name(path.name.removesuffix(end)).is_file()
        for end in _BESIDE
    )


def delete_abandoned(folder: Path) -> None:
    """Delete the files that killed processes left in a folder, but none that is being written."""
    with suppress(OSError):  # who writes there next will say what is wrong with the folder
        for lock in folder.iterdir():
            if _OURS.fullmatch(lock.name):
                with suppress(OSError):
                    _delete_if_abandoned(lock)


def _delete_if_abandoned(lock: Path) -> None:
    descriptor = os.open(lock, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would wait
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _delete_with_logs(lock.with_name(lock.name.removesuffix(_LOCK)))
        lock.unlink()
    finally:
        os.close(descriptor)


def _delete_with_logs(path: Path) -> None:
    """Delete an unfinished file, and what SQLite put beside it."""
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)
