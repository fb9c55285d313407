"""Short runs of all roles together: two of each, one of which is killed; and a soak."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import one_of_two, soak
from tests.faults.rows import Row, play_short


@pytest.mark.full
@pytest.mark.parametrize("row", [one_of_two.ONE_OF_TWO, soak.SOAK], ids=lambda row: row.name)
def test_roles_that_work_together_lose_nothing_and_do_not_grow(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)
