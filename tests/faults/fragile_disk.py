"""A disk that forgets at a power cut what was not synced: all of it, none, or any part.

Every write, change of a file's size, deletion and sync is noted in order. A cut after any of them
leaves of each file what it held at its last sync, and of what came later each sector or none, old,
new or torn; of new and deleted names what their folder was synced for, and of the others any.

SQLite's files go to it through `FragileVfs`; reading is SQLite's own. What is noted of folders is
what SQLite does on Unix: the first sync of each handle that may have made a journal or log syncs
the folder too, and a deletion does where it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, Self, TypeAlias

import apsw

_SECTORS: Final = (512, 4096)
_ODDS: Final = (0.0, 0.1, 0.5, 0.9, 1.0)
"""How much of what was not synced is kept, at one cut: a disk that lost little, much or all."""

_TORN: Final = 0.02


@dataclass(frozen=True, slots=True)
class Made:
    """A name was given to a new file; files are numbered, since names are used again."""

    name: str
    file: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """A name was taken away."""

    name: str


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes were written."""

    file: int
    offset: int
    octets: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    """A file was cut off, or made longer."""

    file: int
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """What was written to a file is there for good; `with_names`: the names in its folder too."""

    file: int | None
    with_names: bool = False


Event: TypeAlias = Made | Deleted | Written | Truncated | Synced
Image: TypeAlias = Mapping[str, bytes]
"""Files by name, as they are found after a cut."""


@dataclass
class FragileDisk:
    """What happened to the files of one folder since it held what it `began` with."""

    began: Image
    events: list[Event] = field(default_factory=list)
    _files: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        for name in self.began:
            self._files[name] = self._count
            self._count += 1

    def open(self, name: str) -> int:
        """Return the number of a file, which is new where nobody had the name."""
        if name not in self._files:
            self._files[name] = self._count
            self.events.append(Made(name, self._count))
            self._count += 1
        return self._files[name]

    def delete(self, name: str, *, is_synced: bool) -> None:
        """Take a name away."""
        if self._files.pop(name, None) is not None:
            self.events.append(Deleted(name))
        if is_synced:
            self.events.append(Synced(None, with_names=True))

    def after_cut(self, at: int, chance: Random) -> Image:
        """Return what is found when the power went after so many events."""
        return _Cut(self.began, chance).after(self.events[:at])


class _Cut:
    """Decides of everything that was not synced whether it is kept."""

    def __init__(self, began: Image, chance: Random) -> None:
        self._chance = chance
        self._sector = chance.choice(_SECTORS)
        self._odds = chance.choice(_ODDS)
        self._names = {name: file for file, name in enumerate(began)}
        self._safe = {file: bytearray(octets) for file, octets in enumerate(began.values())}

    def after(self, events: Iterable[Event]) -> Image:
        unsynced: list[Event] = []
        for event in events:
            if isinstance(event, Synced):
                unsynced = list(self._sync(event, unsynced))
            else:
                unsynced.append(event)
        for event in unsynced:
            self._perhaps(event)
        return {name: bytes(self._held(file)) for name, file in self._names.items()}

    def _sync(self, sync: Synced, unsynced: Iterable[Event]) -> Iterator[Event]:
        """Apply what is safe now, and yield the rest."""
        for event in unsynced:
            is_name = isinstance(event, Made | Deleted)
            if sync.with_names if is_name else getattr(event, "file", None) == sync.file:
                self._apply(event)
            else:
                yield event

    def _apply(self, event: Event) -> None:
        match event:
            case Made(name, file):
                self._names[name] = file
            case Deleted(name):
                self._names.pop(name, None)
            case Written(file, offset, octets):
                self._write(file, offset, octets)
            case Truncated(file, size):
                held = self._held(file)
                del held[size:]
                held.extend(bytes(size - len(held)))
            case Synced():
                pass

    def _perhaps(self, event: Event) -> None:
        """Apply an event, a part of it, or nothing of it."""
        if isinstance(event, Written):
            size = len(self._held(event.file))
            for offset, octets in _sectors(event, self._sector):
                is_longer = offset + len(octets) > size
                if is_longer and self._chance.random() > self._odds:
                    continue  # the new size of the file is lost, and with it what lies there
                if self._chance.random() <= self._odds:
                    self._write(event.file, offset, self._perhaps_torn(octets))
        elif self._chance.random() <= self._odds:
            self._apply(event)

    def _perhaps_torn(self, octets: bytes) -> bytes:
        if self._chance.random() > _TORN:
            return octets
        return octets[: self._chance.randrange(len(octets) + 1)]

    def _write(self, file: int, offset: int, octets: bytes) -> None:
        held = self._held(file)
        held.extend(bytes(max(0, offset - len(held))))
        held[offset : offset + len(octets)] = octets

    def _held(self, file: int) -> bytearray:
        return self._safe.setdefault(file, bytearray())


def _sectors(written: Written, sector: int) -> Iterator[tuple[int, bytes]]:
    """Cut what was written where sectors of the disk end."""
    start, left = written.offset, written.octets
    while left:
        length = sector - start % sector
        yield start, left[:length]
        start, left = start + length, left[length:]


def keep(image: Image, folder: Path) -> None:
    """Write files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, octets in image.items():
        (folder / name).write_bytes(octets)


_NEW_NAME_IS_SYNCED: Final = (
    apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
)
_KEPT: Final = _NEW_NAME_IS_SYNCED | apsw.SQLITE_OPEN_MAIN_DB


class FragileVfs(apsw.VFS):
    """Opens files of a folder through a disk that notes what happens; leave it at the end."""

    def __init__(self, name: str, disk: FragileDisk) -> None:
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
