"""Short runs: disks break under processes that have much to store."""

from __future__ import annotations

from pathlib import Path

from tests.faults.failing_disk import FAILING_DISK, FAILING_DISK_WORKER
from tests.faults.killed_server import REFUSING_SERVER
from tests.faults.rows import play_short


def test_report_on_a_broken_disk_is_refused_and_taken_when_it_works(tmp_path: Path) -> None:
    play_short(FAILING_DISK, tmp_path)


def test_rejection_is_mailed_once_though_the_disk_breaks(tmp_path: Path) -> None:
    play_short(FAILING_DISK_WORKER, tmp_path)


def test_worker_and_serve_outlive_a_postgresql_that_refuses(tmp_path: Path) -> None:
    play_short(REFUSING_SERVER, tmp_path)
