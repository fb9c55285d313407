"""The disk of serve breaks: nothing false is acknowledged, reads go on, saves resume."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.controlled_disk import ControlledDisk
from tests.faults.full_disk import check_reading, check_refusals
from tests.faults.reporters import Harvest, Reports, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import House
from tests.faults.worker_process import pause
from tests.processes import launching
from tests.waiting import eventually

BROKEN: Final = (errno.EIO, errno.EROFS, errno.ENOSPC)


def break_disk(disk: ControlledDisk, chance: Random) -> None:
    """Let the disk fail in one of the ways, always or now and then."""
    error = chance.choice(BROKEN)
    share = 1.0 if error == errno.EROFS else chance.choice((1.0, 0.5, 0.1))
    disk.fail(error, share, Random(chance.random()))  # noqa: S311 - faults must repeat


@contextmanager
def _failing(folder: Path) -> Iterator[Play]:
    """Let the disk of one serve process fail again and again."""
    with launching() as launcher, ControlledDisk(folder) as disk:
        house = House(folder / "house", launcher)
        (server,) = house.servers
        reports = Reports()
        harvests: list[Harvest] = []

        def play(chance: Random) -> None:
            with reporting([server.port], reports, chance) as harvest:
                harvests.append(harvest)
                assert harvest.first.wait(30), f"nothing was acknowledged: {harvest.refused[:1]}"
                break_disk(disk, chance)
                eventually(lambda: bool(harvest.refused), what="a refusal on a broken disk")
                check_reading(house, harvest)
                pause(chance.uniform(0, 0.1))
                disk.recover()
                before = len(harvest.acknowledged)
                eventually(lambda: len(harvest.acknowledged) > before, what="a save afterwards")
            check_refusals(house, harvests)

        server.start(disk=disk.address)
        server.wait_until_ready()
        yield play
        house.close()


FAILING_DISK = Row(
    name="failing-disk",
    promise=(
        "calls with which `linewatch serve` writes to its disk fail, all, one in two or one in "
        "ten, with EIO, EROFS or ENOSPC, while nodes report: the same is promised as of `full-disk`"
    ),
    short=8,
    full=200,
    stage=_failing,
)
