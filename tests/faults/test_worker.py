"""Short runs: workers are killed at random, and at each of their commits and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import worker_faults
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [
        worker_faults.KILLED_WORKER,
        worker_faults.KILLED_AT_POINTS,
        worker_faults.FAILING_DISK_WORKER,
        pytest.param(worker_faults.KILLED_WORKER_ON_POSTGRESQL, marks=pytest.mark.full),
        pytest.param(worker_faults.KILLED_AT_POINTS_ON_POSTGRESQL, marks=pytest.mark.full),
    ],
    ids=lambda row: row.name,
)
def test_rejection_is_stored_and_mailed_to_all_once_though_workers_die(
    row: Row, tmp_path: Path
) -> None:
    play_short(row, tmp_path)
