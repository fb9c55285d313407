"""Checks: what asking about one tracked hash costs us, and that their number changes little."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from uuid import uuid4

import anyio

from dashboard.detect.conditions import ConditionRules
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.cadence import CadencePolicy
from dashboard.poll.conditions import Conditions
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.lease import Lease, NetworkStore
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.migrate import migrate
from tests.bench.expected_replies import NETWORK
from tests.bench.rounds import Median
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, spread
from tests.bench.tracked_store import FILE, track_alone, track_many
from tests.fake_clock import FakeClock

FLAT: Final = 1.5
LEAST_MEMORY: Final = 150
_ALONE: Final = "hashes that are each due alone"
_TICKS: Final = 20
_PERIOD: Final = timedelta(seconds=10)
_NETWORK: Final = NetworkId(NETWORK)


class Nulls:
    """An upstream that answers null at once and counts the questions."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        self.asked += len(hashes)
        return [ExclusionAnswer(each) for each in hashes]


class Turn(NamedTuple):
    """Microseconds of the processor for a check; checks and rows written in a tick."""

    each: float
    checks: float
    rows: float


class Watching:
    """A poll of a store with so many hashes, on a clock that passes as it is told to."""

    def __init__(self, store: Store, many: int, *, is_each_alone: bool = False) -> None:
        self.many = many
        self.about = f"{many:,}{', each due alone' if is_each_alone else ''}"
        self.memory = 0.0
        self._store = store
        self._timepiece = FakeClock()
        self._upstream = Nulls()
        (track_alone if is_each_alone else track_many)(store, range(many), self._timepiece.now())
        self._poll = self._begun()

    async def take_up(self) -> None:
        """Begin, and measure what stays in memory for each hash."""
        tracemalloc.start()
        await self._poll.tick()
        self.memory = tracemalloc.get_traced_memory()[0] / self.many
        tracemalloc.stop()

    async def turn(self) -> Turn:
        """Ask in so many ticks as leave nothing to chance."""
        asked, ticks, rows, cpu = self._upstream.asked, 0, self._rows_changed(), 0.0
        while ticks < _TICKS:
            before, begun = self._upstream.asked, time.process_time()
            await self._poll.tick()
            if self._upstream.asked > before:
                cpu += time.process_time() - begun
                ticks += 1
            else:
                self._timepiece.wait(timedelta(minutes=1))
        checks = self._upstream.asked - asked
        written = self._rows_changed() - rows
        return Turn(cpu / checks * 1e6, checks / ticks, written / ticks)

    def _begun(self) -> ExclusionPoll:
        term = Lease(
            self._store, "worker", "bench", timedelta(days=3650), self._timepiece.elapsed
        ).acquire()
        assert term is not None
        clocks = self._timepiece.clocks
        conditions = Conditions(_NETWORK, _PERIOD, _PERIOD, ConditionRules(), clocks, uuid4)
        store = NetworkStore(self._store, _NETWORK, term)
        schedule = ExclusionQueue(CadencePolicy())
        return ExclusionPoll(self._upstream, store, schedule, clocks, conditions, uuid4)

    def _rows_changed(self) -> int:
        """Return how many rows the one connection that writes has changed."""
        with self._store.write() as connection:
            changed: int = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
        return changed


def run(scene: Scene) -> Result:
    """Let a tenth of the hashes and all of them take turns."""
    many = scene.stored
    with ExitStack() as opened:
        folder = opened.enter_context(TemporaryDirectory(dir=scene.folder))
        watching = [
            Watching(
                opened.enter_context(_new_store(Path(folder), about)), size, is_each_alone=alone
            )
            for about, size, alone in (
                ("few", many // 10, False),
                ("all", many, False),
                ("alone", many // 10, True),
            )
        ]
        turns = anyio.run(_take_turns, watching, scene.rounds)
    return Result(
        title=f"Checks of {many:,} tracked transactions",
        promises=[*_promises(many, watching[:-1], turns[:-1]), *_alone(watching[-1], turns[-1])],
        heads=("tracked", "µs of CPU for a check", "rows written in a tick", "bytes of memory"),
        lines=[
            [
                each.about,
                spread(Median.of([turn.each for turn in its])),
                spread(Median.of([turn.rows for turn in its])),
                f"{each.memory:.2f}",
            ]
            for each, its in zip(watching, turns, strict=True)
        ],
        remarks=["Without the question itself: nobody is asked, and every answer is null."],
    )


def _promises(
    many: int, watching: Sequence[Watching], turns: Sequence[Sequence[Turn]]
) -> list[Promise]:
    """Judge hashes that came in long lists: a tenth of them beside all."""
    few, all_of_them = ([turn.each for turn in each] for each in turns)
    ratio = Median.of([one / other for one, other in zip(all_of_them, few, strict=True)])
    rows = max(turn.rows / turn.checks for each in turns for turn in each)
    memory = max(each.memory for each in watching)
    about = f"a check at {many:,} tracked hashes ÷ one at {many // 10:,}"
    return [
        Promise("S3", about, FLAT, ratio.middle, "×", is_floor=False),
        Promise("S3", "memory for each hash", LEAST_MEMORY, memory, "bytes", is_floor=False),
        Promise("S3", "rows written for each null", 0.01, rows, is_floor=False),
    ]


def _alone(watching: Watching, turns: Sequence[Turn]) -> list[Promise]:
    """Judge hashes that share no schedule."""
    rows = max(turn.rows / turn.checks for turn in turns)
    return [
        Promise("S3", f"{_ALONE}: memory", LEAST_MEMORY, watching.memory, "bytes", is_floor=False),
        Promise("S3", f"{_ALONE}: rows for each null", 0.01, rows, is_floor=False),
    ]


def _new_store(folder: Path, about: str) -> Store:
    file = folder / f"{about}-{FILE}"
    migrate(f"sqlite:///{file}")
    return open_store(f"sqlite:///{file}")


async def _take_turns(watching: Sequence[Watching], rounds: int) -> list[list[Turn]]:
    """Let each warm up, then go on in turns, so that what slows one slows the other."""
    for each in watching:
        await each.take_up()
        await each.turn()
    turns: list[list[Turn]] = [[] for _ in watching]
    for _ in range(rounds):
        for each, its in zip(watching, turns, strict=True):
            its.append(await each.turn())
    return turns
