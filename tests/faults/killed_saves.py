"""Serve is killed or stopped while nodes report; what it acknowledged is stored."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from tests.faults.reporters import Reports, SentReport, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import ServeHome, records_of
from tests.processes import Launcher, launching
from tests.waiting import PATIENCE

_LONGEST_LIFE = 0.25
_RUNS_OF_A_STORE = 25


@dataclass
class Stage:
    """A store under attack: what was handed in so far, and what was acknowledged."""

    serve_home: ServeHome
    reports: Reports = field(default_factory=Reports)
    sent: set[SentReport] = field(default_factory=set)
    acknowledged: set[SentReport] = field(default_factory=set)
    runs: int = 0

    def check(self) -> None:
        """Ask the servers, and then SQLite, for all that was ever acknowledged."""
        hashes = sorted({each.tx_hash for each in self.acknowledged})
        for server in self.serve_home.servers:
            answers = records_of(server, hashes)
            missing = [each for each in hashes if answers[each] is None]
            assert not missing, f"{len(missing)} acknowledged reports are answered with null"
        check_store(self.serve_home.store, self.acknowledged, self.sent)


Attack: TypeAlias = Callable[[Stage, Random], None]
"""Do something to a stage whose servers are ready; afterwards none of them runs."""


def _kill(stage: Stage, chance: Random) -> None:
    """Kill one of the servers a moment after the first acknowledgement, then the others."""
    servers = stage.serve_home.servers
    victim, *others = chance.sample(servers, len(servers))
    with reporting([each.port for each in servers], stage.reports, chance) as acknowledgements:
        try:
            assert acknowledgements.first.wait(PATIENCE), (
                f"nothing was acknowledged: {acknowledgements.refused[:1]}"
            )
            threading.Event().wait(chance.uniform(0, _LONGEST_LIFE))
            victim.kill()
            for other in others:
                threading.Event().wait(chance.uniform(0, _LONGEST_LIFE / 4))
                other.kill()
        finally:
            stage.serve_home.close()
    stage.sent |= acknowledgements.sent
    stage.acknowledged |= acknowledgements.acknowledged
    assert not acknowledgements.refused, f"refused: {acknowledgements.refused[:1]}"


@contextmanager
def attacking(folder: Path, doors: int, attack: Attack) -> Iterator[Play]:
    """Attack two stores in turn, so that one starts again while the other is under attack."""
    with launching() as launcher:
        yield from _attacks(folder, launcher, doors, attack)


def _attacks(folder: Path, launcher: Launcher, doors: int, attack: Attack) -> Iterator[Play]:
    numbers = count()
    stages: list[Stage] = []

    def begin() -> Stage:
        stage = Stage(ServeHome(folder / str(next(numbers)), launcher, doors))
        _start(stage)
        return stage

    stages += [begin(), begin()]
    turns = cycle(range(2))

    def play(chance: Random) -> None:
        turn = next(turns)
        stage = stages[turn]
        for server in stage.serve_home.servers:
            server.wait_until_ready()
        stage.check()
        if stage.runs == _RUNS_OF_A_STORE:
            stage.serve_home.close()
            stages[turn] = stage = begin()
            for server in stage.serve_home.servers:
                server.wait_until_ready()
        attack(stage, chance)
        stage.runs += 1
        _start(stage)

    yield play
    for stage in stages:
        for server in stage.serve_home.servers:
            server.wait_until_ready()
        stage.check()


def _start(stage: Stage) -> None:
    for server in stage.serve_home.servers:
        server.start()


KILLED_SAVES = Row(
    name="killed-saves",
    promise=(
        "`serve` is killed (-9) while nodes report over HTTP and WebSocket: every acknowledged "
        "report is stored once and whole, and the store is intact"
    ),
    short=20,
    full=500,
    stage=lambda folder: attacking(folder, 1, _kill),
)

KILLED_SAVES_OF_TWO = Row(
    name="killed-saves-of-two",
    promise=(
        "two `serve` on one store are killed (-9) a moment apart: as `killed-saves`, and both "
        "answer what either acknowledged"
    ),
    short=5,
    full=200,
    stage=lambda folder: attacking(folder, 2, _kill),
)


def _stop(stage: Stage, chance: Random) -> None:
    """Tell the server to stop in the middle of everything; whatever it kept it must have told."""
    (server,) = stage.serve_home.servers
    with reporting([server.port], stage.reports, chance) as acknowledgements:
        assert acknowledgements.first.wait(PATIENCE), (
            f"nothing was acknowledged: {acknowledgements.refused[:1]}"
        )
        threading.Event().wait(chance.uniform(0, _LONGEST_LIFE))
        code = server.terminate()
    stage.sent |= acknowledgements.sent
    stage.acknowledged |= acknowledgements.acknowledged
    assert code == 0, f"serve ended with {code}: {server.last_lines()}"
    assert not acknowledgements.refused, f"refused: {acknowledgements.refused[:1]}"
    told = {(each.tx_hash, each.reason) for each in stage.acknowledged}
    untold = stored_reports(stage.serve_home.store) - told
    assert not untold, f"{len(untold)} reports were saved and never acknowledged"


STOPPED_SAVES = Row(
    name="stopped-saves",
    promise=(
        "`serve` is stopped (SIGTERM) while nodes report: it ends cleanly, and has saved "
        "exactly what it acknowledged"
    ),
    short=6,
    full=200,
    stage=lambda folder: attacking(folder, 1, _stop),
)


_TWICE: Final = """
    SELECT count(*) FROM (
        SELECT 1 FROM rejections WHERE reported_reason_digest IS NOT NULL
        GROUP BY tx_hash, network_id, reported_reason_digest HAVING count(*) > 1
        UNION ALL
        SELECT 1 FROM rejections GROUP BY tx_hash, network_id, version_digest HAVING count(*) > 1
    )
"""
_HALF: Final = """
    SELECT count(*) FROM rejections LEFT JOIN signed_transactions USING (tx_hash)
    WHERE reported_at IS NOT NULL
      AND (raw IS NULL OR reported_reason_digest IS NULL OR overflows IS NULL)
"""


def stored_reports(path: Path) -> set[tuple[str, str]]:
    """Return hash and reason of every report that is on disk."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT tx_hash, reason_message FROM rejections")
        return {(f"0x{tx_hash.hex()}", reason) for tx_hash, reason in rows}


def check_store(path: Path, acknowledged: Iterable[SentReport], sent: Iterable[SentReport]) -> None:
    """Raise AssertionError unless the store is whole and holds what was acknowledged."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute(_TWICE).fetchone() == (0,), "a report is stored twice"
        assert connection.execute(_HALF).fetchone() == (0,), "a report is stored in part"
    stored = stored_reports(path)
    lost = {(each.tx_hash, each.reason) for each in acknowledged} - stored
    assert not lost, f"{len(lost)} acknowledged reports are lost, such as {min(lost)}"
    strange = stored - {(each.tx_hash, each.reason) for each in sent}
    assert not strange, f"{len(strange)} stored reports were never sent, such as {min(strange)}"
