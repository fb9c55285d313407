"""The published table tells no more than what was played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from tests.faults.__main__ import Progress, main
from tests.faults.rows import Chance, Play, Row, play_row
from tests.faults.table import Tally, bound, played, write_page
from tests.git_history import NOT_THERE, changes_since, is_in_history

HEADS = (
    "| row | promise | runs | failures | bound at 95 % | seed | commit | changes since "
    "| date |\n|---|---|---|---|---|---|---|---|---|\n"
)
NOWHERE = "0123456789"


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        (1, "≤ 100.00 %"),
        (500, "≤ 0.60 %"),
        (950, "≤ 0.32 %"),
        (60_000, "≤ 0.0050 %"),
        (200_000, "≤ 0.0015 %"),
    ],
)
def test_bound_is_rounded_up(runs: int, told: str) -> None:
    assert bound(runs, 0) == told
    assert Fraction(told[2:-2]) >= min(Fraction(100), Fraction(300, runs))


def test_play_that_a_failure_ends_counts_the_cases_that_it_came_to(tmp_path: Path) -> None:
    @contextmanager
    def stage(_folder: Path) -> Iterator[Play]:
        yield _breaks_in_the_third_of_run_1

    row = Row("a-row", "", 10, 30, stage, cases_per_play=10)
    outcomes = dict(play_row(row, tmp_path, 1, [0, 1, 2]))
    progress = Progress(1, NOWHERE, set(outcomes))
    progress.failures = [
        {"number": 1, "cases": failure.cases} for failure in [outcomes[1]] if failure
    ]

    assert progress.cases(row) == 10 + 3 + 10


def _breaks_in_the_third_of_run_1(chance: Chance) -> None:
    for case in chance.cases(10):
        assert (chance.number, case) != (1, 2)


def test_commit_that_is_in_no_history_is_said_to_be_so() -> None:
    assert not is_in_history(NOWHERE)
    assert changes_since(NOWHERE) == NOT_THERE


def test_row_is_read_as_it_was_written(tmp_path: Path) -> None:
    page = tmp_path / "faults.md"
    page.write_text(HEADS, encoding="utf-8")
    row = Row("a-row", "it holds", 1, 1, lambda _: pytest.fail("nothing is played"))
    tally = Tally("it holds", 1_500, 0, 1, NOWHERE, "2026-11-21", NOT_THERE)

    write_page([row], {"a-row": tally}, page)

    assert played(page.read_text(encoding="utf-8")) == {"a-row": tally}


def test_what_is_not_in_the_history_is_not_published(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["gas-storm", "--runs", "1"], commit=f"{NOWHERE}+")

    assert f"{NOWHERE}+ is not in the history" in capsys.readouterr().err
