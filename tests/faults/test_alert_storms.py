"""Short runs: storms, outages and silences, after which everybody heard of everything once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.alert_machine import ALERT_MACHINE, SET_CLOCKS
from tests.faults.alert_storms import ALERT_STORM, MAIL_OUTAGE
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row", [ALERT_STORM, MAIL_OUTAGE, ALERT_MACHINE, SET_CLOCKS], ids=lambda row: row.name
)
def test_everybody_hears_of_everything_once(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)
