"""House rules of the faults: every row and every promise stands on the page, played or not yet."""

from __future__ import annotations

from pathlib import Path

from tests.faults.promises import PROMISED_FAULTS
from tests.faults.registry import ROWS
from tests.faults.table import PAGE, write_page


def test_every_row_of_faults_stands_in_the_published_table(tmp_path: Path) -> None:
    page = tmp_path / PAGE.name
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")

    write_page(ROWS, {}, page)

    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8"), (
        "run: make faults ARGS=--table"
    )


def test_promises_name_rows_that_exist() -> None:
    named = {row for each in PROMISED_FAULTS for row in each.rows}

    assert named <= {row.name for row in ROWS}
