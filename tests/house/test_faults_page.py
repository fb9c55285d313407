"""House rule of the faults: every row stands in the published table, played or not yet."""

from __future__ import annotations

from tests.faults.registry import ROWS
from tests.faults.table import listed_rows


def test_every_row_of_faults_stands_in_the_published_table() -> None:
    assert listed_rows() == [row.name for row in ROWS], "run: make faults ARGS=--table"
