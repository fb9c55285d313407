"""The disk of a worker breaks: it mails what is stored, once, and stores again when it can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.databases import new_store
from tests.faults.controlled_disk import ControlledDisk
from tests.faults.delivery_promises import check_deliveries
from tests.faults.failing_disk import break_disk
from tests.faults.killed_worker import check_life
from tests.faults.rows import Chance, Play, Row
from tests.faults.worker_process import RECIPIENTS, WorkerSite, pause, worker_site
from tests.processes import Process, ProcessOptions, launching
from tests.waiting import PATIENCE, eventually

_BREAKS: Final = 5


@contextmanager
def _failing(folder: Path) -> Iterator[Play]:
    """Let the disk of one worker fail a few times while it has work, and look what came of it."""
    with (
        launching() as launcher,
        ControlledDisk(folder) as disk,
        new_store("sqlite", folder) as url,
        worker_site(folder, url, launcher) as place,
    ):
        process = place.start(disk=disk.address)

        def play(chance: Chance) -> None:
            for _ in chance.cases(_BREAKS):
                _break_once(place, disk, process, chance)
            place.wait_until_quiet(process)
            check_deliveries(place.found(), place.records, RECIPIENTS, place.post.taken)
            check_life(place, frozenset())

        yield play
        assert process.terminate() == 0, process.last_lines()


def _break_once(place: WorkerSite, disk: ControlledDisk, process: Process, chance: Random) -> None:
    place.hosted.asked.clear()
    place.post.arrival.clear()
    place.reject(chance, chance.randrange(1, 4))
    place.reject_again(chance)
    awaited = chance.choice((place.hosted.asked, place.post.arrival))
    assert awaited.wait(PATIENCE), f"the worker does nothing: {process.last_lines()}"
    break_disk(disk, chance)
    eventually(lambda: bool(disk.refused), what="a write to the broken disk")
    _check_reading(place, disk)
    pause(chance.uniform(0, 1.0))
    disk.recover()


def _check_reading(place: WorkerSite, disk: ControlledDisk) -> None:
    """Read with a command whose disk is broken as well."""
    process_options = ProcessOptions(
        place.variables, place.home.parent / "reader.log", {"disk": disk.address}
    )
    reader = place.launcher.linewatch(["alerts", "--json"], process_options)
    assert reader.ended.wait(PATIENCE), "a command that reads never ends"
    assert reader.code == 0, f"reads fail on a broken disk: {reader.last_lines()}"


FAILING_DISK_WORKER = Row(
    name="failing-disk-of-worker",
    promise=(
        "the disk of `linewatch worker` fails in the same ways while it asks, stores and mails: it "
        "recovers by itself, every rejection is stored once and mailed once to everybody, each "
        "tick is stored whole, and commands can still read"
    ),
    short=_BREAKS,
    full=200,
    stage=_failing,
    cases_per_play=_BREAKS,
)
