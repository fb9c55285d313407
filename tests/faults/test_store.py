"""Short runs: kills, power cuts, upgrades and restores of a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import model, power_loss, restore_drill, upgrades
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [
        model.MODEL,
        power_loss.POWER_LOSS,
        upgrades.UPGRADES,
        restore_drill.RESTORE_DRILL,
    ],
    ids=lambda row: row.name,
)
def test_store_holds_what_it_acknowledged(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_power_cut_loses_what_a_store_that_syncs_less_acknowledged(
    synchronous: str, tmp_path: Path
) -> None:
    careless = replace(
        power_loss.POWER_LOSS,
        stage=lambda folder: power_loss.losing_power(folder, synchronous),
        short=5 * power_loss.CUTS,
    )

    with pytest.raises(AssertionError, match="another state than it acknowledged"):
        play_short(careless, tmp_path)
