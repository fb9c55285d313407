"""Commands that write are killed: a batch is there whole or not at all, and again completes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic
from typing import Final, TypeAlias

from sqlalchemy import create_engine, inspect, select

from dashboard.domain.fees.gas import RollupLevel
from dashboard.domain.quantity import TxHash
from dashboard.errors import LinewatchError
from dashboard.store.access.api_keys import all_keys
from dashboard.store.engine.engine import (
    Store,
    installation_id,
    open_store,
    prove_writing,
    stored_revision,
)
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import REVISION, fee_rollups
from dashboard.store.tracking.search import TrackedFilter, count_tracked
from tests.faults.delivery_promises import check_whole
from tests.faults.rows import Chance, Row, playing
from tests.installation import new_installation
from tests.processes import Launcher, Process, ProcessOptions, launching
from tests.waiting import PATIENCE

_LINES: Final = 10_000
_AT_ONCE: Final = 5_000
_A_GUESS: Final = 0.5
"""Seconds that a command takes, until it has been seen."""

_USUAL: Final[dict[str, float]] = {}
"""How long each command last took, in seconds."""


@dataclass(frozen=True, slots=True)
class TypedCommands:
    """An installation in which commands are run."""

    home: Path
    launcher: Launcher

    @property
    def url(self) -> str:
        """The address of its store."""
        return f"sqlite:///{self.home}/linewatch.sqlite"

    def run(self, *arguments: str) -> Process:
        variables = new_installation(self.home).environment()
        return self.launcher.linewatch(arguments, ProcessOptions(variables, self.home / "log"))

    def finish(self, *arguments: str, codes: Container[int] = (0,)) -> None:
        """Run a command to its end, which is to have one of these exit codes."""
        started = monotonic()
        process = self.run(*arguments)
        assert process.ended.wait(PATIENCE), f"{arguments[0]} never ends: {process.last_lines()}"
        assert process.code in codes, process.last_lines()
        _USUAL[arguments[0]] = monotonic() - started

    def kill(self, chance: Random, *arguments: str) -> None:
        """Start a command and kill it (-9) at a moment within the time that it usually takes."""
        process = self.run(*arguments)
        process.ended.wait(chance.uniform(0, _USUAL.get(arguments[0], _A_GUESS)))
        process.kill()


Case: TypeAlias = Callable[[TypedCommands, Random], None]
"""Kill a command on a new store, or on none, and run it again."""


def _track(typed: TypedCommands, chance: Random) -> None:
    """Track a long list; the second run tells what the first one came to."""
    tracking = ("track", "--file", str(_list(typed.home, chance)), "--json")
    migrate(typed.url)
    with open_store(typed.url) as store:
        with _writing_besides(store):
            typed.kill(chance, *tracking)
            check_whole(store)
            assert _tracked(store) % _AT_ONCE == 0, f"{_tracked(store)} lines are tracked"
            typed.finish(*tracking)
        assert _tracked(store) == _LINES


def _make_key(typed: TypedCommands, chance: Random) -> None:
    """Make a key: afterwards there is one of that name, and never half of one."""
    making = ("keys", "create", "wallet", "--json")
    migrate(typed.url)
    with open_store(typed.url) as store:
        typed.kill(chance, *making)
        check_whole(store)
        typed.finish(*making, codes=(0, 2))
        with store.read() as connection:
            assert [each.name for each in all_keys(connection)] == ["wallet"]


def _make_history(typed: TypedCommands, chance: Random) -> None:
    """Make a simulated past: the second run brings what the first did not come to."""
    filling = ("demo-history", "--days", "1")
    migrate(typed.url)
    with open_store(typed.url) as store:
        with _writing_besides(store):
            typed.kill(chance, *filling)
            check_whole(store)
            typed.finish(*filling)
        assert _days(store) >= 1, "no day of fees is there"
        check_whole(store)


def _migrate(typed: TypedCommands, chance: Random) -> None:
    """Create a store: it has no table or all of them, and the same again completes it."""
    typed.kill(chance, "migrate")
    assert _revision(typed.url) in (None, REVISION), _revision(typed.url)
    typed.finish("migrate")
    with open_store(typed.url) as store:
        check_whole(store)
        with store.read() as connection:
            assert (typed.home / "installation").read_text().strip() == str(
                installation_id(connection)
            )


_CASES: Final[tuple[Case, ...]] = (_track, _make_key, _make_history, _migrate)


def _kill(home: Path, chance: Chance) -> None:
    """Kill the command whose turn it is, on a store of its own."""
    with launching() as launcher:
        _CASES[chance.number % len(_CASES)](TypedCommands(home, launcher), chance)


@contextmanager
def _writing_besides(store: Store) -> Iterator[None]:
    """Write again and again from here; AssertionError where the command kept us from it."""
    enough, troubles = threading.Event(), list[str]()

    def write() -> None:
        while not enough.wait(0.02):
            try:
                prove_writing(store)
            except LinewatchError as error:
                troubles.append(str(error))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
    assert not troubles, f"nobody else could write meanwhile: {troubles[0]}"


def _list(home: Path, chance: Random) -> Path:
    path = home / "list.txt"
    hashes = (str(TxHash(chance.randbytes(TxHash.LENGTH))) for _ in range(_LINES))
    path.write_text("\n".join(hashes), encoding="utf-8")
    return path


def _tracked(store: Store) -> int:
    with store.read() as connection:
        return count_tracked(connection, TrackedFilter())


def _days(store: Store) -> int:
    of_days = fee_rollups.c.level == RollupLevel.DAY
    with store.read() as connection:
        return len(set(connection.scalars(select(fee_rollups.c.begins_at).where(of_days))))


def _revision(url: str) -> str | None:
    """Return the schema of a store, None where there are no tables at all."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = stored_revision(connection)
        assert found is not None or not inspect(connection).get_table_names()
    engine.dispose()
    return found


KILLED_COMMANDS = Row(
    name="killed-commands",
    promise=(
        "`track` of 10,000 lines (in two parts), `keys create`, `demo-history` and `migrate` of a"
        " new store are killed: each part is saved whole or not at all, others can write "
        "meanwhile, and the same command completes it"
    ),
    short=len(_CASES),
    full=400,
    stage=playing(nullcontext, _kill),
)
