"""S14: many open pages on one process, each refreshing every five seconds."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tests.bench.page_session import PageSession, open_page
from tests.bench.pages_store import made_paged_store
from tests.bench.processes import Server, cores, free_port, settle, started
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number

MOST: Final = 100
"""Open pages; where few rejections are stored, fewer that refresh more often, for a first look."""

_PERIOD: Final = 5.0
_PATHS: Final = {"twelve networks": "/", "one network": "/?network=Linea"}
_MINUTE: Final = 60.0
_KB: Final = 1_000


@dataclass(frozen=True, slots=True)
class Refreshes:
    """What the refreshes of all sessions took: seconds each, CPU seconds and seconds in all."""

    took: list[float]
    cpu: float
    length: float
    wire: float
    unpacked: float

    def part(self, share: float) -> float:
        """Return the milliseconds below which this share of them stayed."""
        return 1_000 * sorted(self.took)[round(share * (len(self.took) - 1))]

    @property
    def busy(self) -> float:
        """The share of a core that the server took."""
        return self.cpu / self.length


def run(scene: Scene) -> Result:
    """Open so many pages, the Overview of all networks and of one, and let them refresh."""
    many = max(3, min(MOST, scene.stored // 200))
    paged = made_paged_store(scene.folder, scene.stored, scene.day, timedelta(days=scene.days))
    port = free_port()
    command = ("tests.bench.peers.pages", str(port), str(paged.file), paged.until.isoformat())
    with started("the pages", command, cores()[0], {}, port) as server:
        settle(server)
        found = {
            name: asyncio.run(_refreshed(server, path, many, scene))
            for name, path in _PATHS.items()
        }
    return Result(
        title=f"S14: {many} pages open on one process, refreshing every {_PERIOD:g} s",
        promises=_promises(found, many),
        heads=_HEADS,
        lines=[_line(name, each) for name, each in found.items()],
        remarks=[_HOW],
    )


_HEADS: Final = (
    *("Overview of", "median", "p95", "longest"),
    *("core", "CPU each", "kB a minute", "unpacked"),
)

_HOW: Final = (
    "Real WebSocket sessions, while fees of twelve networks are written, and a rejection every "
    "12 s. A refresh lasts until the last message of its answer. The share of a core is CPU time."
)


def _promises(found: dict[str, Refreshes], many: int) -> list[Promise]:
    """Promise waits and core for all networks, which cost more, and the traffic of both."""
    whole = found["twelve networks"]
    measured = [
        (f"{many} sessions: p95", 100, whole.part(0.95), "ms"),
        (f"{many} sessions: share of a core", 50, 100 * whole.busy, "%"),
        *(
            (f"live traffic a minute, {name}", 300, each.wire / _KB, "kB")
            for name, each in found.items()
        ),
    ]
    return [Promise("S14", *each, is_floor=False) for each in measured]


def _line(name: str, found: Refreshes) -> list[str]:
    median, p95, longest = (f"{number(found.part(each))} ms" for each in (0.5, 0.95, 1))
    each = f"{number(1_000 * found.cpu / len(found.took))} ms"
    sizes = [number(size / _KB) for size in (found.wire, found.unpacked)]
    return [name, median, p95, longest, f"{found.busy:.0%}", each, *sizes]


async def _refreshed(server: Server, path: str, many: int, scene: Scene) -> Refreshes:
    """Open pages one after the other, then let them refresh for some periods."""
    period = _PERIOD * many / MOST
    turns = max(2, round(scene.rounds * scene.seconds / period))
    async with AsyncExitStack() as stack:
        pages = []
        for _ in range(many):
            opening = open_page(f"http://127.0.0.1:{server.port}{path}")
            page = await stack.enter_async_context(opening)
            await page.run()
            pages.append(page)
        await _all(pages, 1, period)  # the first refresh of each sends what none sends later
        before = sum(page.moved.wire for page in pages), sum(page.moved.unpacked for page in pages)
        cpu, begun = server.process_seconds(), time.perf_counter()
        took = await _all(pages, turns, period)
        length = time.perf_counter() - begun
        (own_period,) = pages[0].fragments.values()
        a_minute = _MINUTE / own_period / len(took)
        return Refreshes(
            took,
            server.process_seconds() - cpu,
            length,
            (sum(page.moved.wire for page in pages) - before[0]) * a_minute,
            (sum(page.moved.unpacked for page in pages) - before[1]) * a_minute,
        )


async def _all(pages: list[PageSession], turns: int, period: float) -> list[float]:
    """Let each page refresh in its turn; return how long each refresh took."""
    begun = time.perf_counter()
    took: list[float] = []

    async def live(place: int, page: PageSession) -> None:
        (fragment,) = page.fragments
        for turn in range(turns):
            due = begun + period * (turn + place / len(pages))
            await asyncio.sleep(due - time.perf_counter())
            took.append(await page.run(fragment))

    await asyncio.gather(*(live(place, page) for place, page in enumerate(pages)))
    return took
