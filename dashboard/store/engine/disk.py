"""Files and folders that are on disk before work continues, and closed to other users."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o600
_OWNERS_FOLDER: Final = 0o700
FULL: Final = "its disk is full: free some space there"
"""What to say of a folder for which `is_full` is true."""

_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SOME_ROOM: Final = 65_536
"""Bytes: the log grows by less with a few reports."""


def force_to_disk(path: Path) -> None:
    """Wait until a file or a folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder, closed to other users, where there is none; with those that it lies in."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=_OWNERS_FOLDER, parents=True, exist_ok=True)
    for each in reversed(missing):
        force_to_disk(each.parent)


def make_file(path: Path) -> None:
    """Make an empty file, closed to other users, where there is none; what is there stays as it is.

    What SQLite puts beside a file is as closed as that. A file that is there is not even opened: to
    close it again would release the locks that SQLite holds on it for this process.
    """
    led_to = path.resolve()
    try:
        os.close(os.open(led_to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY))
    except FileExistsError:
        return
    force_to_disk(led_to.parent)


def probe_space(folder: Path) -> None:
    """Write a little into a file without a name, which is gone at once; OSError without room."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_SOME_ROOM))


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder has too little room for a few reports, for us at least."""
    try:
        probe_space(folder)
    except OSError as error:
        return error.errno in _NO_ROOM
    return False
