"""Short run: fees that flap around their threshold make a network busy as a plain model has it."""

from __future__ import annotations

from pathlib import Path

from tests.faults.flapping_fees import FLAPPING_FEES
from tests.faults.rows import play_short


def test_network_is_busy_when_the_plain_model_says_so(tmp_path: Path) -> None:
    play_short(FLAPPING_FEES, tmp_path)
