"""Short run: nothing acknowledged goes with the power, unless less is synced than is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.power_loss import POWER_LOSS, losing_power
from tests.faults.rows import play_short


def test_transaction_that_was_acknowledged_survives_a_power_cut(tmp_path: Path) -> None:
    play_short(POWER_LOSS, tmp_path)


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_power_cut_loses_what_a_store_that_syncs_less_acknowledged(
    synchronous: str, tmp_path: Path
) -> None:
    careless = replace(POWER_LOSS, stage=lambda folder: losing_power(folder, synchronous))

    with pytest.raises(AssertionError, match="another state than it acknowledged"):
        play_short(careless, tmp_path)
