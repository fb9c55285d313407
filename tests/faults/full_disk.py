"""The disk is full while nodes report: nothing is acknowledged that is not there, reads go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.reporters import Acknowledgements, Reports, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import ServeHome, limit_files, open_serve_home, records_of
from tests.faults.stored_reports import check_store, stored_reports
from tests.waiting import PATIENCE, eventually

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
        "the disk of `linewatch serve` fills up while nodes report, often within a transaction: "
        "everything acknowledged is stored, nothing refused is, reads go on, and saving resumes by "
        "itself when there is space again"
    ),
    short=8,
    full=200,
    stage=_filling,
)
