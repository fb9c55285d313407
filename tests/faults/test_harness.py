"""The published table tells no more than what was played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from tests.faults.__main__ import Progress, main
from tests.faults.hostile_messages import HOSTILE_BYTES
from tests.faults.rows import Chance, Failure, Play, Row, play_row
from tests.faults.side_by_side import play_beside
from tests.faults.table import bound


@pytest.mark.parametrize(
    ("runs", "said"), [(1, "≤ 100.00 %"), (950, "≤ 0.32 %"), (200_000, "≤ 0.0015 %")]
)
def test_bound_is_rounded_up(runs: int, said: str) -> None:
    assert bound(runs, 0) == said
    assert Fraction(said[2:-2]) >= min(Fraction(100), Fraction(300, runs))


def test_play_that_a_failure_ends_counts_the_cases_that_it_came_to(tmp_path: Path) -> None:
    def play(chance: Chance) -> None:
        for case in chance.cases(10):
            assert (chance.number, case) != (1, 2)

    row = _a_row(play, cases_per_play=10)
    outcomes = list(play_row(row, tmp_path, 1, [0, 1, 2]))

    assert [(number, failure and failure.cases) for number, failure in outcomes] == [
        *((0, None), (1, 3), (2, None))
    ]
    progress = Progress(1, "0123456789", {0, 1, 2}, [{"number": 1, "cases": 3}])
    assert progress.cases(row) == 10 + 3 + 10


def test_end_of_a_stage_that_fails_is_a_failure_of_its_last_run(tmp_path: Path) -> None:
    @contextmanager
    def stage(_folder: Path) -> Iterator[Play]:
        yield lambda _: None
        message = "something was left"
        raise AssertionError(message)

    outcomes = list(play_row(Row("a-row", "", 1, 1, stage), tmp_path, 1, [4, 5]))

    assert outcomes[2:] == [(5, Failure(5, "AssertionError: something was left"))]


def test_run_makes_the_same_choices_after_whichever_other(tmp_path: Path) -> None:
    drawn: list[tuple[int, float]] = []
    row = _a_row(lambda chance: drawn.append((chance.number, chance.random())))

    for folder, numbers in (("all", [0, 1, 2]), ("some", [2])):
        list(play_row(row, tmp_path / folder, 1, numbers))

    assert drawn[2] == drawn[3]


@pytest.mark.full
def test_runs_side_by_side_are_each_played_once(tmp_path: Path) -> None:
    outcomes = list(play_beside(HOSTILE_BYTES, tmp_path, 1, [0, 2], 2))

    assert sorted(number for number, failure in outcomes if failure is None) == [0, 2]


def test_what_is_not_in_the_history_is_not_published(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["gas-storm", "--runs", "1"], commit="0123456789+")

    assert "0123456789+ is not in the history" in capsys.readouterr().err


def _a_row(play: Play, cases_per_play: int = 1) -> Row:
    @contextmanager
    def stage(_folder: Path) -> Iterator[Play]:
        yield play

    return Row("a-row", "", 1, 1, stage, cases_per_play)
