"""Short runs: storms, outages, silences, set clocks, flapping fees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import alert_faults, flapping_fees
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [
        alert_faults.ALERT_STORM,
        alert_faults.MAIL_OUTAGE,
        alert_faults.ALERT_MACHINE,
        alert_faults.SET_CLOCKS,
        flapping_fees.FLAPPING_FEES,
    ],
    ids=lambda row: row.name,
)
def test_everybody_hears_of_everything_as_the_plain_model_says(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)
