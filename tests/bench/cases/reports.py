"""S9: how many reports go to disk in a second, and how soon another process shows one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Final, Self

from dashboard.devnet.genesis import DEVNET_ID
from tests.bench.load_generator import Load, Volley
from tests.bench.messages import post, split_http
from tests.bench.processes import Server, cores, settle
from tests.bench.reply_checks import Truth
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import RPC, Scene
from tests.bench.signed_reports import Reporter, SentReport
from tests.bench.table import Promise, Result, number

CONNECTIONS: Final = 64
FLOOR: Final = 500
PACE: Final = 200
"""Reports per second while waits are measured: a node's worst day, and no queue of our making."""
MOST: Final = 4_000
"""Reports signed for each second: more than can be saved."""

NETWORK_OF_REPORTS: Final = f"""
[networks.reported]
network_id = {DEVNET_ID}
title = "Reported"
"""


def run(scene: Scene) -> Result:
    """Measure alone, then beside a worker that writes: first as fast as it goes, then at a pace."""
    seconds = scene.seconds * scene.rounds / 2
    reporter = Reporter()
    lines: list[list[str]] = []
    promises: list[Promise] = []
    for how, longest in (("alone", 50), ("beside a worker", 250)):
        with ExitStack() as stack:
            saving = stack.enter_context(scene.ours(NETWORK_OF_REPORTS))
            reading = stack.enter_context(scene.ours(NETWORK_OF_REPORTS, cores()[1]))
            if how != "alone":
                stack.enter_context(scene.peer("worker", "writer", cores()[1]))
            for server in (saving, reading):
                settle(server)
            per_second, cost = _saved(saving, reporter, seconds)
            handed = list(reporter.take(round(PACE * seconds * 2)))
            waits = sorted(asyncio.run(_waits(saving, reading, handed)))
        shown = [1_000 * waits[round((len(waits) - 1) * each)] for each in (0.5, 0.99, 1)]
        milliseconds = [f"{number(each)} ms" for each in (1_000 * cost, *shown)]
        lines.append([how, number(per_second), *milliseconds])
        promises += [
            Promise("S9", f"reports on disk per second, {how}", FLOOR, per_second),
            Promise("S9", f"p99 report → visible, {how}", longest, shown[1], "ms", is_floor=False),
        ]
    return Result(
        title=f"S9: reports over {CONNECTIONS} connections; another process reads each",
        promises=promises,
        heads=("", "per second", "CPU time of each", f"p50 at {PACE}/s", "p99", "longest"),
        lines=lines,
        remarks=[_WAITS],
    )


_WAITS: Final = (
    f"Waits are at {PACE} reports a second, from when a report was due until another process, "
    "asked once after the acknowledgement, returns it."
)


def _saved(server: Server, reporter: Reporter, seconds: float) -> tuple[float, float]:
    """Hand in as fast as it goes; return reports per second and the CPU seconds of each."""
    handed = list(reporter.take(round(MOST * seconds)))
    volleys = [Volley(post(RPC, each.save), place, 1) for place, each in enumerate(handed)]
    before = server.cpu_seconds()
    burst = Load(server.port, volleys, CONNECTIONS, split_http).run(seconds)
    cost = server.cpu_seconds() - before
    reports = Truth([each.saved for each in handed]).judge(burst)
    return reports / burst.wall, cost / reports


async def _waits(saving: Server, reading: Server, handed: Sequence[SentReport]) -> list[float]:
    """Hand reports in at `PACE`, whatever the answers take; return how long each was unseen."""
    begun = time.perf_counter()
    supply = iter(enumerate(handed))
    waits: list[float] = []

    async def work() -> None:
        async with _Talk.to(saving) as saver, _Talk.to(reading) as reader:
            for place, each in supply:
                due = begun + place / PACE
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await saver.expect(each.save, each.saved)
                await reader.expect(each.get, each.got)
                waits.append(time.perf_counter() - due)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return waits


class _Talk:
    """One connection that asks and waits for the answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    @asynccontextmanager
    async def to(cls, server: Server) -> AsyncIterator[Self]:
        """Connect, and hang up afterwards."""
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()

    async def expect(self, body: bytes, wanted: bytes) -> None:
        """Ask; WrongAnswerError where the answer is not what is wanted."""
        self._writer.write(post(RPC, body))
        bodies, rest = split_http(await self._reader.read(1 << 16))
        while not bodies:
            bodies, rest = split_http(rest + await self._reader.read(1 << 16))
        if bodies != [wanted]:
            msg = f"told {bodies!r} where {wanted!r} is true"
            raise WrongAnswerError(msg)
