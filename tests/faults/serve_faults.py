"""Serve is killed, stopped or out of disk while nodes report: what it acknowledged is stored."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.controlled_disk import ControlledDisk
from tests.faults.delivery_promises import check_reports
from tests.faults.kill_points import points_of
from tests.faults.reporters import Acknowledgements, Reports, SentReport, reporting
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_processes import ServeHome, limit_files, records_of
from tests.processes import launching
from tests.waiting import PATIENCE, eventually, pause

_LONGEST_LIFE: Final = 0.25
_FIRST_YES: Final = "yes"
_POINTS: Final = (*points_of("a rejection"), _FIRST_YES, *points_of("counts of keys"))
"""Keys are counted every few seconds only, so these come last."""

_BROKEN: Final = (errno.EIO, errno.EROFS, errno.ENOSPC)
_UNLIMITED: Final = -1
_SERVER_ERROR: Final = frozenset({-32000})
_LONG: Final = 3_500_000
_ROOM: Final = 100_000
"""The disk gets full after at most so many more bytes, mostly in the middle of a transaction."""


@dataclass
class ServeSite:
    """A store with the processes that serve it, and everything that nodes ever reported to them."""

    home: ServeHome
    disk: ControlledDisk | None = None
    reports: Reports = field(default_factory=Reports)
    sent: set[SentReport] = field(default_factory=set)
    acknowledged: set[SentReport] = field(default_factory=set)
    refused: set[SentReport] = field(default_factory=set)

    def start(self, **extra: str) -> None:
        """Start the processes that do not run; each answers what any ever acknowledged."""
        extra |= {} if self.disk is None else {"disk": self.disk.address}
        for server in self.home.servers:
            if not server.runs:
                server.start(**extra)
        for server in self.home.servers:
            server.wait_until_ready()
        hashes = sorted({each.tx_hash for each in self.acknowledged})
        for server in self.home.servers:
            answers = records_of(server, hashes)
            missing = [each for each in hashes if answers[each] is None]
            assert not missing, f"{len(missing)} acknowledged reports are answered with null"

    @contextmanager
    def under_load(
        self,
        chance: Random,
        refusals: AbstractSet[int] | None = frozenset(),
        through: int | None = None,
    ) -> Iterator[Acknowledgements]:
        """Let nodes report until this ends, and something be acknowledged before it begins.

        They report to each process, or `through` the port of a proxy, where they connect again.

        Afterwards the store holds what was acknowledged. Reports are refused with the codes
        `refusals`, and are not stored; None: with any, and a refused one may be stored as well.
        """
        ports = [through] if through else [each.port for each in self.home.servers]
        with reporting(ports, self.reports, chance, comes_back=through is not None) as load:
            load.wait_for_the_first()
            yield load
        self.note(load, refusals)

    def note(self, load: Acknowledgements, refusals: AbstractSet[int] | None = frozenset()) -> None:
        """Remember what nodes reported, and see that it is stored as it was answered."""
        self.sent |= load.sent
        self.acknowledged |= load.acknowledged
        if refusals is not None:
            codes = {reply["error"]["code"] for reply in load.refused}
            assert codes == refusals, f"refused: {load.refused[:1]}"
            self.refused |= load.denied
        check_reports(self.home.url, self.acknowledged, self.sent, self.refused)


@contextmanager
def serve_site(home: Path, doors: int = 1, **variables: str) -> Iterator[ServeSite]:
    """Yield a new store; at its end each process answers all that any acknowledged."""
    with launching() as launcher:
        site = ServeSite(ServeHome(home / "serve", launcher, doors, **variables))
        yield site
        site.start()
        site.home.close()


@contextmanager
def _on_a_disk(home: Path) -> Iterator[ServeSite]:
    """Yield the same on a disk that can fail."""
    with ControlledDisk(home) as disk, serve_site(home) as site:
        site.disk = disk
        yield site


def _kill(site: ServeSite, chance: Chance) -> None:
    """Kill one process a moment after the first acknowledgement, then the others."""
    site.start()
    with site.under_load(chance):
        for server in chance.sample(site.home.servers, len(site.home.servers)):
            pause(chance.uniform(0, _LONGEST_LIFE))
            server.kill()


def _stop(site: ServeSite, chance: Chance) -> None:
    """Stop the process in the middle of everything; whatever it saved it must have acknowledged."""
    site.start()
    (server,) = site.home.servers
    with site.under_load(chance):
        pause(chance.uniform(0, _LONGEST_LIFE))
        code = server.terminate()
    assert code == 0, f"serve ended with {code}: {server.last_lines()}"
    check_reports(site.home.url, site.acknowledged, site.acknowledged)


def _die_at_point(site: ServeSite, chance: Chance) -> None:
    """Let the process end before or after a commit, or at its first acknowledgement."""
    point = _POINTS[chance.number % len(_POINTS)]
    site.start(**({} if point == _FIRST_YES else {"trap": point}))
    (server,) = site.home.servers
    process = server.process
    with reporting([server.port], site.reports, chance) as load:
        if point == _FIRST_YES:
            load.wait_for_the_first()
            process.kill()
        assert process.ended.wait(PATIENCE), f"serve never comes to {point}: {server.last_lines()}"
    assert process.code == -9, f"serve ended with {process.code}: {server.last_lines()}"
    server.kill()
    site.note(load)


def _fail_for_a_while(
    site: ServeSite,
    chance: Chance,
    fail: Callable[[Random], None],
    recover: Callable[[], None],
) -> None:
    """Let the disk fail until a report is refused: reads continue, and then saving resumes."""
    site.start()
    with site.under_load(chance, _SERVER_ERROR) as load:
        fail(chance)
        eventually(lambda: bool(load.refused), what="a refusal on a broken disk")
        asked = sorted({each.tx_hash for each in tuple(load.acknowledged)})[:100]
        answers = records_of(site.home.servers[0], asked)
        assert all(answers[each] is not None for each in asked), "reads fail on a broken disk"
        pause(chance.uniform(0, 0.1))
        recover()
        load.wait_for_another()


def break_disk(disk: ControlledDisk, chance: Random) -> None:
    """Let the disk fail in one of the ways, always or now and then."""
    error = chance.choice(_BROKEN)
    share = 1.0 if error == errno.EROFS else chance.choice((1.0, 0.5, 0.1))
    disk.fail(error, share, Random(chance.random()))  # noqa: S311 - faults must repeat


def _break(site: ServeSite, chance: Chance) -> None:
    assert site.disk is not None
    _fail_for_a_while(site, chance, partial(break_disk, site.disk), site.disk.recover)


def _fill(site: ServeSite, chance: Chance) -> None:
    """Limit the size of all files, given that of the write-ahead log.

    SQLite begins again at the start of a long one, so that a limit beyond it would not be met.
    """
    site.start()
    journal = site.home.store.with_name(f"{site.home.store.name}-wal")
    size = journal.stat().st_size if journal.exists() else 0
    beyond = size if size < _LONG else 0
    limit = partial(limit_files, site.home.servers[0].process.pid)
    _fail_for_a_while(
        site,
        chance,
        lambda chance: limit(chance.choice((0, beyond + chance.randrange(_ROOM)))),
        lambda: limit(_UNLIMITED),
    )


_FOR_EVER: Final = 10**9

KILLED_SAVES = Row(
    name="killed-saves",
    promise=(
        "`serve` is killed while nodes report over HTTP and WebSocket: every acknowledged report "
        "is stored once and whole, and the store is intact"
    ),
    short=4,
    full=500,
    stage=playing(serve_site, _kill, lives=25),
)
KILLED_SAVES_OF_TWO = Row(
    name="killed-saves-of-two",
    promise=(
        "two `serve` on one store are killed a moment apart: as `killed-saves`, and both answer "
        "what either acknowledged"
    ),
    short=2,
    full=200,
    stage=playing(partial(serve_site, doors=2), _kill, lives=25),
)
STOPPED_SAVES = Row(
    name="stopped-saves",
    promise=(
        "`serve` is stopped while nodes report: it ends cleanly, and has saved exactly what it "
        "acknowledged"
    ),
    short=3,
    full=200,
    # On a slow machine an acknowledgement may take longer than the 5 s of the default.
    stage=playing(partial(serve_site, LINEWATCH_SERVE_STOP_TIMEOUT="60s"), _stop, lives=25),
)
KILLED_SERVE_AT_POINTS = Row(
    name="killed-serve-at-points",
    promise=(
        "`serve` is killed before and after each commit, and at its first acknowledgement: as "
        "`killed-saves`"
    ),
    short=3,
    full=50 * len(_POINTS),
    stage=playing(serve_site, _die_at_point, lives=20),
)
FULL_DISK = Row(
    name="full-disk",
    promise=(
        "the disk of `serve` fills up while nodes report: everything acknowledged is stored, "
        "nothing refused is, reads continue, and saving resumes when there is space"
    ),
    short=3,
    full=200,
    stage=playing(serve_site, _fill, lives=_FOR_EVER),
)
FAILING_DISK = Row(
    name="failing-disk",
    promise=(
        "all, half or a tenth of the disk writes of `serve` fail with EIO, EROFS or ENOSPC "
        "while nodes report: as `full-disk`"
    ),
    short=4,
    full=200,
    stage=playing(_on_a_disk, _break, lives=_FOR_EVER),
)
