"""SQLite's way to its files, with a note of all that the disk is told; reading is SQLite's own.

What it notes of folders is what SQLite does on Unix: the first sync of each handle that may have
made a journal or log syncs the folder too, and a deletion does where it is asked to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

import apsw

from tests.faults.fragile_disk import FragileDisk, Synced, Truncated, Written

_NEW_NAME_IS_SYNCED: Final = (
    apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
)
_KEPT: Final = _NEW_NAME_IS_SYNCED | apsw.SQLITE_OPEN_MAIN_DB


class FragileVfs(apsw.VFS):
    """Opens files of a folder through a disk that notes what happens; leave it at the end."""

    def __init__(self, name: str, disk: FragileDisk) -> None:
        """Register under a name that nobody has."""
        self.disk = disk
        super().__init__(name, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unregister()

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        if name is None or not flags[0] & _KEPT:
            return apsw.VFSFile("", name, flags)
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name)
        file = apsw.VFSFile if flags[0] & apsw.SQLITE_OPEN_READONLY else FragileFile
        opened = file("", name, flags)
        if isinstance(opened, FragileFile):
            is_created = bool(flags[0] & apsw.SQLITE_OPEN_CREATE)
            names_too = is_created and bool(flags[0] & _NEW_NAME_IS_SYNCED)
            opened.note(self.disk, path.name, syncs_name=names_too)
        return opened

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - SQLite's name
        super().xDelete(name, syncdir)
        self.disk.delete(Path(name).name, is_synced=syncdir)


class FragileFile(apsw.VFSFile):
    """An open file whose changes are noted."""

    def note(self, disk: FragileDisk, name: str, *, syncs_name: bool) -> None:
        """Begin."""
        self._disk = disk
        self._file = disk.open(name)
        self._syncs_name = syncs_name

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        super().xWrite(data, offset)
        self._disk.events.append(Written(self._file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        super().xTruncate(newsize)
        self._disk.events.append(Truncated(self._file, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        self._disk.events.append(Synced(self._file, with_names=self._syncs_name))
        self._syncs_name = False
