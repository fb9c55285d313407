"""Short runs: serve is killed while nodes report, and nothing acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

from tests.faults.killed_saves import KILLED_SAVES, KILLED_SAVES_OF_TWO
from tests.faults.rows import play_short


def test_report_that_was_acknowledged_survives_a_kill_of_serve(tmp_path: Path) -> None:
    play_short(KILLED_SAVES, tmp_path)


def test_report_that_either_of_two_acknowledged_survives_their_kill(tmp_path: Path) -> None:
    play_short(KILLED_SAVES_OF_TWO, tmp_path)
