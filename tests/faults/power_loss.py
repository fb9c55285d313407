"""The power goes while the store writes: what it acknowledged is there, whole, and no half more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any, Final

import apsw

from dashboard.store.engine.engine import Store, open_store, prove_writing
from dashboard.store.maintenance.migrate import migrate
from tests.faults import fragile_driver
from tests.faults.fragile_disk import FragileDisk, FragileVfs, Image, keep
from tests.faults.rows import Chance, Play, Row
from tests.faults.store_work import WORKS
from tests.unit.store.fake_machine import Machine

CUTS: Final = 20
_NAME: Final = "linewatch.db"
_LIVES: Final = 2
_names = (f"fragile-{number}" for number in count(1))


class _Undone(Exception):
    """A transaction that ends in an error."""


@dataclass
class Session:
    """One life of a store on a fragile disk, with what it held after each transaction.

    `states` are digests of all that is stored; each was acknowledged after so many events.
    """

    folder: Path
    disk: FragileDisk
    synchronous: str = ""
    states: list[tuple[int, str]] = field(default_factory=list)

    def play(self, chance: Random, numbers: Iterator[int]) -> None:
        """Migrate if need be, and let things happen that are drawn by chance."""
        name = next(_names)
        options = f"vfs={name}&synchronous={self.synchronous}"
        url = f"sqlite+{fragile_driver.FragileDialect.driver}:///{self.folder}/{_NAME}?{options}"
        with FragileVfs(name, self.disk), ExitStack() as opened:
            other = opened.enter_context(closing(apsw.Connection(str(self._path), vfs=name)))
            self._note(other)
            migrate(url)
            self._note(other)
            store = opened.enter_context(open_store(url, Machine().clock))
            reading = opened.enter_context(ExitStack())
            for _ in range(chance.randrange(3, 9)):
                self._happen(store, other, reading, chance, next(numbers))
                self._note(other)

    def _happen(
        self,
        store: Store,
        other: apsw.Connection,
        reading: ExitStack,
        chance: Random,
        number: int,
    ) -> None:
        """Write mostly; else move the log into the file, or begin or end a long read."""
        match chance.randrange(8):
            case 0:
                mode = chance.choice(("PASSIVE", "FULL", "RESTART", "TRUNCATE"))
                with suppress(apsw.BusyError):
                    other.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
            case 1:
                reading.close()
                reading.enter_context(store.read()).exec_driver_sql(
                    "SELECT count(*) FROM rejections"
                ).one()
            case 2:
                reading.close()
            case case:
                with suppress(_Undone), store.write() as connection:
                    for _ in range(chance.randrange(1, 4)):
                        chance.choice(WORKS)(connection, chance, number)
                    if case == 3:
                        raise _Undone

    @property
    def _path(self) -> Path:
        return self.folder / _NAME

    def _note(self, connection: apsw.Connection) -> None:
        """Note what is stored now, if it is something else than before."""
        state = state_of(connection)
        if not self.states or self.states[-1][1] != state:
            self.states.append((len(self.disk.events), state))

    def allowed(self, cut: int) -> list[str]:
        """Return what may be found after a cut: what was acknowledged, or one transaction more."""
        acknowledged = sum(at <= cut for at, _ in self.states) - 1
        first = max(0, acknowledged)
        return [state for _, state in self.states[first : first + 2]]


def state_of(connection: Any) -> str:  # noqa: ANN401 - of sqlite3 or APSW
    """Return a digest of the schema and of every row; free pages and the like are left out."""
    tables = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name, sql"
    found = list(connection.execute(tables))
    digest = sha256(repr(found).encode())
    for name, sql in found:
        if sql.startswith("CREATE TABLE"):
            rows = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a name of the schema
            digest.update(repr(sorted(map(repr, rows))).encode())
    return digest.hexdigest()


def found_state(folder: Path, chance: Random) -> str:
    """Return what SQLite finds in the files of a folder, which must be whole."""
    if chance.random() < 0.3:
        (folder / f"{_NAME}-shm").write_bytes(chance.randbytes(32768))
    with closing(sqlite3.connect(folder / _NAME)) as connection:
        state = state_of(connection)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return state


@dataclass
class PowerLoss:
    """Sessions from chosen beginnings, each cut at many points."""

    folder: Path
    beginnings: list[Image]
    synchronous: str = ""

    def play(self, chance: Chance) -> None:
        """Live, lose the power, live on with what was left, and look at it each time."""
        numbers = count(1)
        image = chance.choice(self.beginnings)
        for life in range(_LIVES):
            place = self.folder / f"life-{life}"
            keep(image, place)
            session = Session(place, FragileDisk(image), self.synchronous)
            session.play(chance, numbers)
            for _ in chance.cases(CUTS // _LIVES):
                image = self._cut(session, chance)
            rmtree(place)

    def _cut(self, session: Session, chance: Random) -> Image:
        acknowledgements = [at for at, _ in session.states]
        cut = chance.randrange(len(session.disk.events) + 1)
        if chance.random() < 0.3:
            cut = chance.choice(acknowledgements)
        image = session.disk.after_cut(cut, chance)
        place = self.folder / "found"
        keep(image, place)
        try:
            found = found_state(place, chance)
            allowed = session.allowed(cut)
            lost = f"after {cut} of {len(session.disk.events)} events"
            assert found in allowed, f"{lost} the store holds another state than it acknowledged"
            if chance.random() < 0.2:
                migrate(f"sqlite:///{place}/{_NAME}")
                with open_store(f"sqlite:///{place}/{_NAME}") as store:
                    prove_writing(store)
        finally:
            rmtree(place)
        return image


@contextmanager
def losing_power(folder: Path, synchronous: str = "") -> Iterator[Play]:
    """Begin with nothing, or mostly with a store."""
    path = folder / _NAME
    migrate(f"sqlite:///{path}")
    loss = PowerLoss(folder, [{}, *[{_NAME: path.read_bytes()}] * 3], synchronous)
    yield loss.play


POWER_LOSS: Final = Row(
    name="power-loss",
    promise=(
        "the power fails, and then once more, while reports, polls, notifications, deliveries and"
        " fees are saved, at a checkpoint or while a store is created: nothing acknowledged is "
        "lost, no transaction is there in part, and the store is intact"
    ),
    short=2 * CUTS,
    full=5_000,
    stage=losing_power,
    cases_per_play=CUTS,
)
