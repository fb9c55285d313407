"""Short runs: serve is killed, stopped or out of disk while nodes report."""

from __future__ import annotations

from pathlib import Path

from tests.faults.failing_disk import FULL_DISK
from tests.faults.killed_saves import KILLED_SAVES, KILLED_SAVES_OF_TWO, STOPPED_SAVES
from tests.faults.rows import play_short


def test_report_that_was_acknowledged_survives_a_kill_of_serve(tmp_path: Path) -> None:
    play_short(KILLED_SAVES, tmp_path)


def test_report_that_either_of_two_acknowledged_survives_their_kill(tmp_path: Path) -> None:
    play_short(KILLED_SAVES_OF_TWO, tmp_path)


def test_report_that_is_saved_while_serve_stops_is_acknowledged(tmp_path: Path) -> None:
    play_short(STOPPED_SAVES, tmp_path)


def test_report_on_a_full_disk_is_refused_and_taken_when_there_is_room(tmp_path: Path) -> None:
    play_short(FULL_DISK, tmp_path)
