"""Short run: fees jump and blocks are replaced, and the served numbers stay right to the wei."""

from __future__ import annotations

from pathlib import Path

from tests.faults.hostile_gas import GAS_STORM
from tests.faults.rows import play_short


def test_gas_numbers_are_right_through_jumps_and_reorganisations(tmp_path: Path) -> None:
    play_short(GAS_STORM, tmp_path)
