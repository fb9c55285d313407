"""Disks that are full or break under processes that have much to store."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.databases import new_store
from tests.faults.controlled_disk import ControlledDisk
from tests.faults.delivery_promises import check_deliveries
from tests.faults.killed_saves import check_store, stored_reports
from tests.faults.killed_worker import check_life
from tests.faults.reporters import Acknowledgements, Reports, reporting
from tests.faults.rows import Chance, Play, Row
from tests.faults.serve_processes import ServeHome, limit_files, open_serve_home, records_of
from tests.faults.worker_process import RECIPIENTS, WorkerSite, pause, worker_site
from tests.processes import Process, ProcessOptions, launching
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
        "all, half or a tenth of the disk writes of `serve` fail with EIO, EROFS or ENOSPC "
        "while nodes report: as `full-disk`"
    ),
    short=8,
    full=200,
    stage=_failing,
)


_BREAKS: Final = 5


@contextmanager
def _failing_under_a_worker(folder: Path) -> Iterator[Play]:
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
        "the disk of `worker` fails in the same ways: it recovers, every rejection is stored "
        "once and mailed once to everybody, each tick is stored whole, and commands can still "
        "read"
    ),
    short=_BREAKS,
    full=200,
    stage=_failing_under_a_worker,
    cases_per_play=_BREAKS,
)


_UNLIMITED: Final = -1
_SERVER_ERROR: Final = -32000
_LONG: Final = 3_500_000
_ROOM: Final = 100_000
"""The disk gets full after at most so many more bytes, mostly in the middle of a transaction."""


@contextmanager
def _filling(folder: Path) -> Iterator[Play]:
    """Let the disk of one serve process get full, and empty again."""
    with open_serve_home(folder / "serve_home") as serve_home:
        yield _fill_again_and_again(serve_home)


def _fill_again_and_again(serve_home: ServeHome) -> Play:
    (server,) = serve_home.servers
    reports = Reports()
    harvests: list[Acknowledgements] = []

    def play(chance: Random) -> None:
        journal = serve_home.store.with_name(f"{serve_home.store.name}-wal")
        size = journal.stat().st_size if journal.exists() else 0
        with reporting([server.port], reports, chance) as acknowledgements:
            harvests.append(acknowledgements)
            assert acknowledgements.first.wait(PATIENCE), (
                f"nothing was acknowledged: {acknowledgements.refused[:1]}"
            )
            limit_files(server.process.pid, _limit(size, chance))
            eventually(lambda: bool(acknowledgements.refused), what="a refusal on a full disk")
            check_reading(serve_home, acknowledgements)
            threading.Event().wait(chance.uniform(0, 0.1))
            limit_files(server.process.pid, _UNLIMITED)
            before = len(acknowledgements.acknowledged)
            eventually(
                lambda: len(acknowledgements.acknowledged) > before, what="a save afterwards"
            )
        check_refusals(serve_home, harvests)

    return play


def _limit(size: int, chance: Random) -> int:
    """Return the size that no file may exceed, given the size of the write-ahead log.

    SQLite begins again at the start of a long one, so that a limit beyond it would not be met.
    """
    beyond = size if size < _LONG else 0
    return chance.choice((0, beyond + chance.randrange(_ROOM)))


def check_reading(serve_home: ServeHome, acknowledgements: Acknowledgements) -> None:
    """Ask for what was acknowledged, while nothing can be saved."""
    asked = sorted({each.tx_hash for each in tuple(acknowledgements.acknowledged)})[:100]
    answers = records_of(serve_home.servers[0], asked)
    assert all(answers[each] is not None for each in asked), "reads fail on a full disk"


def check_refusals(serve_home: ServeHome, harvests: list[Acknowledgements]) -> None:
    """See that what was acknowledged is there, and what was refused is not."""
    acknowledged = {each for acknowledgements in harvests for each in acknowledgements.acknowledged}
    sent = {each for acknowledgements in harvests for each in acknowledgements.sent}
    check_store(serve_home.store, acknowledged, sent)
    refused = {
        each for acknowledgements in harvests for each in acknowledgements.denied
    } - acknowledged
    kept = {(each.tx_hash, each.reason) for each in refused} & stored_reports(serve_home.store)
    assert not kept, f"{len(kept)} reports were refused and are stored"
    codes = {reply["error"]["code"] for reply in harvests[-1].refused}
    assert codes == {_SERVER_ERROR}, f"refused with {codes}"


FULL_DISK = Row(
    name="full-disk",
    promise=(
        "the disk of `serve` fills up while nodes report: everything acknowledged is stored, "
        "nothing refused is, reads continue, and saving resumes when there is space again"
    ),
    short=8,
    full=200,
    stage=_filling,
)
