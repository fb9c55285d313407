"""Unfinished files: hidden, and deleted once the process that wrote them has ended.

Each has a lock in a file beside it: closing the file itself would release the locks that SQLite
holds on it. If the lock is free, its process has ended, since the system then releases its locks,
also after kill -9 or a power cut.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

_OWNER_ONLY: Final = 0o600
_LOCK: Final = ".lock"
_BESIDE: Final = ("-journal", "-wal", "-shm")
"""What SQLite may put beside a file; after a whole copy nothing of it is left."""

_OURS: Final = re.compile(r"\..+\.[0-9a-f]{8}\.(?:unfinished|part|restoring)\.lock")


@contextmanager
def unfinished_beside(path: Path, kind: str = "unfinished") -> Iterator[Path]:
    """Yield the path for a file to write in the folder of `path`; it is gone afterwards.

    The `kind` is unfinished, part or restoring. What killed processes left in that folder is
    deleted. OSError if the folder takes no file.
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
    """Whether SQLite keeps there, or may, what belongs to the database beside it."""
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
    """Delete a file that was not finished, with what SQLite put beside it."""
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)
