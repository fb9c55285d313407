"""A serve process is killed exactly before and after each of its commits, and at its first yes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.kill_points import points_of
from tests.faults.killed_saves import check_store
from tests.faults.reporters import Reports, SentReport, reporting
from tests.faults.rows import Chance, Play, Row
from tests.faults.serve_processes import ServeHome
from tests.processes import launching
from tests.waiting import PATIENCE

_FIRST_YES: Final = "yes"
_POINTS: Final = (*points_of("a rejection"), _FIRST_YES, *points_of("counts of keys"))
"""Keys are counted every few seconds only, so these come last."""
_LIVES_OF_A_STORE: Final = 20


class _Stage:
    """A store on which serve dies again and again."""

    def __init__(self, serve_home: ServeHome) -> None:
        """Start nothing yet."""
        self.serve_home = serve_home
        self.lives = 0
        self._reports = Reports()
        self._sent: set[SentReport] = set()
        self._acknowledged: set[SentReport] = set()

    def die_at(self, point: str, chance: Random) -> None:
        """Let serve die at the point while nodes report, and look at what is left."""
        (server,) = self.serve_home.servers
        server.start(**({} if point == _FIRST_YES else {"trap": point}))
        process = server.process
        server.wait_until_ready()
        with reporting([server.port], self._reports, chance) as acknowledgements:
            if point == _FIRST_YES:
                assert acknowledgements.first.wait(PATIENCE), "nothing was acknowledged"
                process.kill()
            assert process.ended.wait(PATIENCE), (
                f"serve never comes to {point}: {process.last_lines()}"
            )
        assert process.code == -9, f"serve ended with {process.code}: {process.last_lines()}"
        assert not acknowledgements.refused, f"refused: {acknowledgements.refused[:1]}"
        self._sent |= acknowledgements.sent
        self._acknowledged |= acknowledgements.acknowledged
        check_store(self.serve_home.store, self._acknowledged, self._sent)
        self.lives += 1


@contextmanager
def _dying(folder: Path) -> Iterator[Play]:
    """Let serve die at each point in turn."""
    numbers = count()
    with launching() as launcher:
        stages: list[_Stage] = []

        def play(chance: Chance) -> None:
            if not stages or stages[-1].lives == _LIVES_OF_A_STORE:
                stages.append(_Stage(ServeHome(folder / str(next(numbers)), launcher)))
            stages[-1].die_at(_POINTS[chance.number % len(_POINTS)], chance)

        yield play


KILLED_SERVE_AT_POINTS = Row(
    name="killed-serve-at-points",
    promise=(
        "`serve` is killed (-9) before and after each of its commits, and at its first "
        "acknowledgement: as `killed-saves`"
    ),
    short=3,
    full=50 * len(_POINTS),
    stage=_dying,
)
