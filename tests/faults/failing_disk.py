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
from tests.faults.reporters import Acknowledgements, Reports, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import ServeHome
from tests.faults.worker_process import pause
from tests.processes import launching
from tests.waiting import PATIENCE, eventually

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
        serve_home = ServeHome(folder / "serve_home", launcher)
        (server,) = serve_home.servers
        reports = Reports()
        harvests: list[Acknowledgements] = []

        def play(chance: Random) -> None:
            with reporting([server.port], reports, chance) as acknowledgements:
                harvests.append(acknowledgements)
                assert acknowledgements.first.wait(PATIENCE), (
                    f"nothing was acknowledged: {acknowledgements.refused[:1]}"
                )
                break_disk(disk, chance)
                eventually(
                    lambda: bool(acknowledgements.refused), what="a refusal on a broken disk"
                )
                check_reading(serve_home, acknowledgements)
                pause(chance.uniform(0, 0.1))
                disk.recover()
                before = len(acknowledgements.acknowledged)
                eventually(
                    lambda: len(acknowledgements.acknowledged) > before, what="a save afterwards"
                )
            check_refusals(serve_home, harvests)

        server.start(disk=disk.address)
        server.wait_until_ready()
        yield play
        serve_home.close()


FAILING_DISK = Row(
    name="failing-disk",
    promise=(
        "all, half or a tenth of the disk writes of `linewatch serve` fail with EIO, EROFS or "
        "ENOSPC while nodes report: the same as `full-disk`"
    ),
    short=8,
    full=200,
    stage=_failing,
)
