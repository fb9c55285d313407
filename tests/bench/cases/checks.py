"""S2, S3: what the whole cycle of a check costs, beside a peer, and that it stays so with many."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from uuid import uuid4

import anyio

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.health.observation import ExclusionAnswer, ExclusionAnswers, not_null
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.cadence import CadencePolicy
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.lease import Lease, NetworkStore
from dashboard.poll.network_conditions import Conditions
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.http import RetryPolicy
from dashboard.upstream.websocket import WebSocketAsker
from tests.bench.cases.questions import ask_web3, web3_client
from tests.bench.expected_replies import NETWORK
from tests.bench.peers.sql_claims import SqlClaims
from tests.bench.processes import cores, free_port, settle, started
from tests.bench.rounds import Median, WrongAnswerError
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, spread
from tests.bench.tracked_store import FILE, hash_of, track_alone, track_many
from tests.fake_clock import FakeClock

FLAT: Final = 1.5
LEAST_MEMORY: Final = 150
ALONE_TIMES: Final = 10
TOGETHER_TIMES: Final = 35
_ALONE: Final = "each due alone"
_TICKS: Final = 20
_WARM: Final = 2_000
"""A tick asks at most 5,000 hashes: with one for so many of them, each is asked about twice."""

_CLAIMS: Final = 3
_PERIOD: Final = timedelta(seconds=10)
_NETWORK: Final = NetworkId(NETWORK)


class Nulls:
    """An upstream that answers null: at once, or, while there is a `client`, by that client.

    It counts the questions.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.client: ExclusionClient | None = None

    async def ask(self, hashes: Sequence[TxHash]) -> Sequence[ExclusionAnswer]:
        self.asked += len(hashes)
        if self.client is None:
            return ExclusionAnswers(hashes)
        answers = await self.client.ask(hashes)
        if not_null(answers) or len(answers) != len(hashes):
            raise WrongAnswerError(f"the client did not tell the truth: {not_null(answers)[:3]}")
        return answers


class Turn(NamedTuple):
    """Microseconds of the processor for a check; checks and rows written in a tick."""

    each: float
    checks: float
    rows: float


class Watching:
    """A poll of a store with so many hashes, on a clock that passes as it is told to."""

    def __init__(self, store: Store, many: int, is_each_alone: bool) -> None:  # noqa: FBT001 - one of three rows of a table
        self.many = many
        self.about = f"{many:,}{', each due alone' if is_each_alone else ''}"
        self.memory = 0.0
        self.upstream = Nulls()
        self._store = store
        self._timepiece = FakeClock()
        (track_alone if is_each_alone else track_many)(store, range(many), self._timepiece.now())
        self._poll = self._begun()

    async def take_up(self) -> None:
        """Ask about most hashes twice, as in the hours before; measure what stays in memory."""
        tracemalloc.start()
        for _ in range(_TICKS + self.many // _WARM):
            await self._tick()
        gc.collect()  # what is garbage does not stay
        self.memory = tracemalloc.get_traced_memory()[0] / self.many
        tracemalloc.stop()

    async def turn(self) -> Turn:
        """Ask in so many ticks as leave nothing to chance."""
        asked, ticks, rows, cpu = self.upstream.asked, 0, self._rows_changed(), 0.0
        while ticks < _TICKS:
            begun = time.process_time()
            if await self._tick():
                cpu += time.process_time() - begun
                ticks += 1
        checks = self.upstream.asked - asked
        written = self._rows_changed() - rows
        return Turn(cpu / checks * 1e6, checks / ticks, written / ticks)

    async def _tick(self) -> bool:
        """Return whether anything was due; let a minute pass where nothing was."""
        before = self.upstream.asked
        await self._poll.tick()
        if self.upstream.asked == before:
            self._timepiece.wait(timedelta(minutes=1))
        return self.upstream.asked > before

    def _begun(self) -> ExclusionPoll:
        term = Lease(
            self._store, "worker", "bench", timedelta(days=3650), self._timepiece.elapsed
        ).acquire()
        assert term is not None
        clocks = self._timepiece.clocks
        conditions = Conditions(_NETWORK, _PERIOD, _PERIOD, ConditionRules(), clocks, uuid4)
        store = NetworkStore(self._store, _NETWORK, term)
        schedule = ExclusionQueue(CadencePolicy())
        return ExclusionPoll(self.upstream, store, schedule, clocks, conditions, uuid4)

    def _rows_changed(self) -> int:
        """Return how many rows the one connection that writes has changed."""
        with self._store.write() as connection:
            changed: int = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
        return changed


class Turns(NamedTuple):
    """What was measured of hashes: with answers that cost nothing, and with real ones."""

    watching: Watching
    checks: list[Turn]
    cycles: list[float]


def run(scene: Scene) -> Result:
    """Let a tenth of the hashes, all of them, and a tenth that is each due alone take turns."""
    many = scene.stored
    ports = free_port(), free_port()
    module = ("tests.bench.peers.exclusion_upstream", *map(str, ports))
    with ExitStack() as opened:
        settle(opened.enter_context(started("the upstream", module, cores()[0], {}, ports[0])))
        folder = Path(opened.enter_context(TemporaryDirectory(dir=scene.folder)))
        few, everything, alone = (
            Turns(Watching(opened.enter_context(_new_store(folder, about)), size, is_alone), [], [])
            for about, size, is_alone in (
                ("few", many // 10, False),
                ("all", many, False),
                ("alone", many // 10, True),
            )
        )
        peer = SqlClaims(folder / "claims.sqlite", map(hash_of, range(many // 10)), _web3(ports[0]))
        opened.callback(peer.close)
        theirs = anyio.run(_take_turns, [few, everything, alone], peer, ports[1], scene.rounds)
    return _result(few, everything, alone, theirs)


def _web3(port: int) -> Callable[[list[str]], list[Any]]:
    return partial(ask_web3, web3_client(f"http://127.0.0.1:{port}"))


def _result(few: Turns, everything: Turns, alone: Turns, theirs: Sequence[float]) -> Result:
    lines = [
        [
            each.watching.about,
            spread(Median.of([turn.each for turn in each.checks])),
            spread(Median.of(each.cycles)),
            spread(Median.of([turn.rows for turn in each.checks])),
            f"{each.watching.memory:.2f}",
        ]
        for each in (few, everything, alone)
    ]
    peer = ["claims by SQL, asked by web3.py", "", spread(Median.of(theirs)), "", ""]
    return Result(
        title=f"S2, S3: checks of {everything.watching.many:,} tracked transactions",
        promises=[
            _cycles("submitted together", few, theirs, TOGETHER_TIMES),
            _cycles("each due alone", alone, theirs, ALONE_TIMES),
            *_flat(few, everything),
            *_promises("", [few, everything]),
            *_promises(f"{_ALONE}: ", [alone]),
        ],
        heads=("tracked", "µs of CPU for a check", "with the question", "rows a tick", "bytes"),
        lines=[*lines, peer],
        remarks=[
            (
                "S2: both ask one upstream, which answers null: our worker over WebSocket, the "
                "[peer](../tests/bench/peers/sql_claims.py) over HTTP with web3.py. S3: no "
                "upstream is asked."
            )
        ],
    )


def _cycles(which: str, ours: Turns, theirs: Sequence[float], times: int) -> Promise:
    ratio = Median.of([their / our for our, their in zip(ours.cycles, theirs, strict=True)])
    about = f"a cycle of hashes {which}: × the peer"
    return Promise("S2", about, times, ratio.middle, "×")


def _flat(few: Turns, everything: Turns) -> list[Promise]:
    """Judge the cost of a check among all hashes beside that among a tenth of them."""
    pairs = zip(everything.checks, few.checks, strict=True)
    ratio = Median.of([one.each / other.each for one, other in pairs])
    about = f"a check at {everything.watching.many:,} tracked hashes ÷ one at {few.watching.many:,}"
    return [Promise("S3", about, FLAT, ratio.middle, "×", is_floor=False)]


def _promises(about: str, turns: Sequence[Turns]) -> list[Promise]:
    rows = max(turn.rows / turn.checks for each in turns for turn in each.checks)
    memory = max(each.watching.memory for each in turns)
    return [
        Promise(
            "S3", f"{about}memory for each hash", LEAST_MEMORY, memory, "bytes", is_floor=False
        ),
        Promise("S3", f"{about}rows written for each null", 0.01, rows, is_floor=False),
    ]


def _new_store(folder: Path, about: str) -> Store:
    file = folder / f"{about}-{FILE}"
    migrate(f"sqlite:///{file}")
    return open_store(f"sqlite:///{file}")


async def _take_turns(
    turns: Sequence[Turns], peer: SqlClaims, port: int, rounds: int
) -> list[float]:
    """Let each warm up, then go on in turns, so that what slows one slows the others.

    Return what the peer took.
    """
    for each in turns:
        await each.watching.take_up()
        await each.watching.turn()
    peer.turn(_CLAIMS)
    endpoint = Endpoint("benchmark endpoint", Secret(f"ws://127.0.0.1:{port}"))
    asker = WebSocketAsker(endpoint, RetryPolicy(attempts=1))
    client = ExclusionClient(asker, "linea")
    theirs = []
    for _ in range(rounds):
        for each in turns:
            each.checks.append(await each.watching.turn())
            each.watching.upstream.client = client
            each.cycles.append((await each.watching.turn()).each)
            each.watching.upstream.client = None
        theirs.append(peer.turn(_CLAIMS))
    await asker.aclose()
    return theirs
