"""Short runs: serve, commands and `up` are killed, stopped or out of disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import killed_commands, killed_up, rolling_restart, serve_faults
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [
        serve_faults.KILLED_SAVES,
        serve_faults.KILLED_SAVES_OF_TWO,
        serve_faults.STOPPED_SAVES,
        rolling_restart.ROLLING_RESTART,
        serve_faults.KILLED_SERVE_AT_POINTS,
        serve_faults.FULL_DISK,
        serve_faults.FAILING_DISK,
        killed_commands.KILLED_COMMANDS,
        killed_up.KILLED_UP,
    ],
    ids=lambda row: row.name,
)
def test_what_was_acknowledged_is_there_whatever_happens_to_processes(
    row: Row, tmp_path: Path
) -> None:
    play_short(row, tmp_path)
