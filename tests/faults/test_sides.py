"""Runs side by side: what each comes to depends on its seed and number alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.hostile_messages import HOSTILE_BYTES
from tests.faults.parallel_runs import play_beside
from tests.faults.rows import Chance, Failure, Play, Row, play_row


def test_runs_side_by_side_are_each_played_once(tmp_path: Path) -> None:
    numbers = [0, 2]

    outcomes = list(play_beside(HOSTILE_BYTES, tmp_path, 1, numbers, 2))

    assert sorted(outcomes, key=lambda each: each[0]) == [(each, None) for each in numbers]


def test_run_makes_the_same_choices_after_whichever_other(tmp_path: Path) -> None:
    drawn: list[tuple[int, float]] = []
    row = _a_row(lambda chance: drawn.append((chance.number, chance.random())))

    for folder, numbers in (("all", [0, 1, 2]), ("some", [2])):
        list(play_row(row, tmp_path / folder, 1, numbers))

    assert drawn[2] == drawn[3]


def test_failure_is_told_once_and_the_next_run_has_a_new_stage(tmp_path: Path) -> None:
    def play(chance: Chance) -> None:
        if chance.number == 1:
            message = "it is broken"
            raise AssertionError(message)

    outcomes = list(play_row(_a_row(play), tmp_path, 1, [0, 1, 2]))

    assert outcomes == [(0, None), (1, Failure(1, "AssertionError: it is broken", 1)), (2, None)]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a-row-0", "a-row-1"]


def test_end_of_a_stage_that_fails_is_a_failure_of_its_last_run(tmp_path: Path) -> None:
    @contextmanager
    def stage(_folder: Path) -> Iterator[Play]:
        yield lambda _: None
        message = "something was left"
        raise AssertionError(message)

    outcomes = list(play_row(Row("a-row", "", 1, 1, stage), tmp_path, 1, [4, 5]))

    last = Failure(5, "AssertionError: something was left")
    assert outcomes == [(4, None), (5, None), (5, last)]


def _a_row(play: Play) -> Row:
    @contextmanager
    def stage(_folder: Path) -> Iterator[Play]:
        yield play

    return Row("a-row", "", 1, 1, stage)
