"""Short runs: processes are killed at random, and at each of their commits and messages."""

from __future__ import annotations

from pathlib import Path

from tests.faults.killed_at_points import (
    KILLED_AT_POINTS,
    KILLED_AT_POINTS_ON_POSTGRESQL,
)
from tests.faults.killed_commands import KILLED_COMMANDS
from tests.faults.killed_serve_at_points import KILLED_SERVE_AT_POINTS
from tests.faults.killed_server import KILLED_SERVER
from tests.faults.killed_up import KILLED_UP
from tests.faults.killed_worker import KILLED_WORKER, KILLED_WORKER_ON_POSTGRESQL
from tests.faults.rows import play_short


def test_rejection_is_told_to_all_though_the_worker_is_killed(tmp_path: Path) -> None:
    play_short(KILLED_WORKER, tmp_path)


def test_rejection_is_told_to_all_at_whatever_point_the_worker_is_killed(tmp_path: Path) -> None:
    play_short(KILLED_AT_POINTS, tmp_path)


def test_report_survives_at_whatever_point_serve_is_killed(tmp_path: Path) -> None:
    play_short(KILLED_SERVE_AT_POINTS, tmp_path)


def test_rejection_on_postgresql_is_told_to_all_though_the_worker_is_killed(tmp_path: Path) -> None:
    play_short(KILLED_WORKER_ON_POSTGRESQL, tmp_path)


def test_rejection_on_postgresql_is_told_to_all_at_whatever_point_of_a_kill(tmp_path: Path) -> None:
    play_short(KILLED_AT_POINTS_ON_POSTGRESQL, tmp_path)


def test_worker_and_serve_outlive_a_postgresql_that_is_killed(tmp_path: Path) -> None:
    play_short(KILLED_SERVER, tmp_path)


def test_command_that_is_killed_leaves_all_or_nothing_and_completes_again(tmp_path: Path) -> None:
    play_short(KILLED_COMMANDS, tmp_path)


def test_nothing_is_left_or_lost_where_up_is_killed(tmp_path: Path) -> None:
    play_short(KILLED_UP, tmp_path)
