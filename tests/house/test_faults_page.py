"""House rule of the faults: every row stands on the page, played or not yet."""

from __future__ import annotations

from pathlib import Path

from tests.faults.registry import ROWS
from tests.faults.table import PAGE, write_page


def test_every_row_of_faults_stands_in_the_published_table(tmp_path: Path) -> None:
    page = tmp_path / PAGE.name
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")

    write_page(ROWS, {}, page)

    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8"), (
        "run: make faults ARGS=--table"
    )
