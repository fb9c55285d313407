"""Short run: the store does what a plain model of it does, wherever it is killed."""

from __future__ import annotations

from pathlib import Path

from tests.faults.model import MODEL
from tests.faults.rows import play_short


def test_store_does_what_its_model_does_wherever_it_is_killed(tmp_path: Path) -> None:
    play_short(MODEL, tmp_path)
