"""Short runs: mail servers fail, PostgreSQL fails, workers restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import mail_faults, postgresql_faults, worker_faults
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [
        worker_faults.EVERY_NOTIFICATION,
        mail_faults.FAULTY_MAIL,
        mail_faults.SILENT_ADDRESSES,
        worker_faults.RESTARTS,
        postgresql_faults.KILLED_SERVER,
        postgresql_faults.REFUSING_SERVER,
    ],
    ids=lambda row: row.name,
)
def test_everybody_is_mailed_of_everything_once(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)
