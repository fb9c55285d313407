"""The disk is full while nodes report: nothing is acknowledged that is not there, reads go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.reporters import Harvest, Reports, reporting
from tests.faults.rows import Play, Row
from tests.faults.serve_processes import House, limit_files, open_house, records_of
from tests.faults.stored_reports import check_store, stored_reports
from tests.waiting import eventually

_UNLIMITED: Final = -1
_SERVER_ERROR: Final = -32000
_LONG: Final = 3_500_000
_ROOM: Final = 100_000
"""The disk gets full after at most so many more bytes, mostly in the middle of a transaction."""


@contextmanager
def _filling(folder: Path) -> Iterator[Play]:
    """Let the disk of one serve process get full, and empty again."""
    with open_house(folder / "house") as house:
        yield _fill_again_and_again(house)


def _fill_again_and_again(house: House) -> Play:
    (server,) = house.servers
    reports = Reports()
    harvests: list[Harvest] = []

    def play(chance: Random) -> None:
        journal = house.store.with_name(f"{house.store.name}-wal")
        size = journal.stat().st_size if journal.exists() else 0
        with reporting([server.port], reports, chance) as harvest:
            harvests.append(harvest)
            assert harvest.first.wait(30), f"nothing was acknowledged: {harvest.refused[:1]}"
            limit_files(server.process.pid, _limit(size, chance))
            eventually(lambda: bool(harvest.refused), what="a refusal on a full disk")
            check_reading(house, harvest)
            threading.Event().wait(chance.uniform(0, 0.1))
            limit_files(server.process.pid, _UNLIMITED)
            before = len(harvest.acknowledged)
            eventually(lambda: len(harvest.acknowledged) > before, what="a save afterwards")
        check_refusals(house, harvests)

    return play


def _limit(size: int, chance: Random) -> int:
    """Return the size that no file may exceed, given the size of the write-ahead log.

    SQLite begins again at the start of a long one, so that a limit beyond it would not be met.
    """
    beyond = size if size < _LONG else 0
    return chance.choice((0, beyond + chance.randrange(_ROOM)))


def check_reading(house: House, harvest: Harvest) -> None:
    """Ask for what was acknowledged, while nothing can be saved."""
    asked = sorted({each.tx_hash for each in tuple(harvest.acknowledged)})[:100]
    answers = records_of(house.servers[0], asked)
    assert all(answers[each] is not None for each in asked), "reads fail on a full disk"


def check_refusals(house: House, harvests: list[Harvest]) -> None:
    """See that what was acknowledged is there, and what was refused is not."""
    acknowledged = {each for harvest in harvests for each in harvest.acknowledged}
    sent = {each for harvest in harvests for each in harvest.sent}
    check_store(house.store, acknowledged, sent)
    refused = {each for harvest in harvests for each in harvest.denied} - acknowledged
    kept = {(each.tx_hash, each.reason) for each in refused} & stored_reports(house.store)
    assert not kept, f"{len(kept)} reports were refused and are stored"
    codes = {reply["error"]["code"] for reply in harvests[-1].refused}
    assert codes == {_SERVER_ERROR}, f"refused with {codes}"


FULL_DISK = Row(
    name="full-disk",
    promise=(
        "the disk of `linewatch serve` gets full while nodes report, often within a transaction: "
        "nothing is acknowledged that is not there, nothing refused is, reads go on, and saving "
        "goes on by itself when there is room again"
    ),
    short=8,
    full=200,
    stage=_filling,
)
