"""S15: many hashes pasted on the page Lookup, until the answer to each of them is shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.bench.alerting import alerting, in_seconds
from tests.bench.page_session import open_page
from tests.bench.processes import cores, settle, started
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result
from tests.builders import a_hash
from tests.faults.hosted_apis import HostedApis, hosted_apis
from tests.installation import Installation

LONGEST: Final = 5.0
MOST: Final = 1_000
RATE: Final = 50
"""Requests per second that the upstream answers; more are refused."""


@dataclass
class BoundedApis(HostedApis):
    """Refuses what comes beyond `RATE` within one second."""

    questions: list[float] = field(default_factory=list)
    refused: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def is_too_fast(self) -> bool:
        """Whether as many came within the last second."""
        now = time.perf_counter()
        lately = [each for each in self.questions if now - each < 1]
        if len(lately) >= RATE:
            self.refused += 1
            return True
        self.questions.append(now)
        return False


def run(scene: Scene) -> Result:
    """Paste other hashes in each round."""
    many = max(60, min(MOST, scene.stored // 200))
    apis = BoundedApis()
    with (
        hosted_apis(apis) as upstream,
        alerting(f"http://127.0.0.1:{upstream.port}") as site,
        _pages(site.installation),
    ):
        took = sorted(
            asyncio.run(_looked_up(site.installation, range(many * turn, many * (turn + 1))))
            for turn in range(1, scene.rounds + 1)
        )
    return Result(
        title=f"S15: {many:,} hashes pasted on the page, upstream of {RATE} requests per second",
        promises=[Promise("S15", f"{many:,} hashes", LONGEST, took[-1], "s", is_floor=False)],
        heads=("hashes", "fastest", "median", "longest", "requests of each", "refused"),
        lines=[
            [
                f"{many:,}",
                *(in_seconds(each) for each in (took[0], took[len(took) // 2], took[-1])),
                f"{len(apis.questions) / len(took):.0f}",
                f"{apis.refused:,}",
            ]
        ],
        remarks=[_HOW],
    )


_HOW: Final = (
    "From the press of Look up until the page shows an answer to each hash. The upstream takes "
    "batches and answers null at once."
)


@contextmanager
def _pages(of: Installation) -> Iterator[None]:
    """Run the pages of an installation."""
    module = ("dashboard.cli.main", "pages")
    with started("the pages", module, cores()[0], of.variables, of.pages_port) as server:
        settle(server)
        yield


async def _looked_up(installation: Installation, numbers: range) -> float:
    """Return the seconds until a page shows the answers about these hashes."""
    hashes = "\n".join(str(a_hash(each)) for each in numbers)
    async with open_page(f"{installation.pages}/lookup") as page:
        await page.run()
        pasted = WidgetState(id=page.widgets["Transactions, one or many"], string_value=hashes)
        pressed = WidgetState(id=page.widgets["Look up"], trigger_value=True)
        return await page.run(words=f"{len(numbers):,} answered", done=[pasted, pressed])
