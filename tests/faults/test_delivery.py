"""Short runs: mails arrive where nothing fails and where mail servers do, and after restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.every_notification import EVERY_NOTIFICATION
from tests.faults.faulty_mail import FAULTY_MAIL, SILENT_ADDRESSES
from tests.faults.restarts import RESTARTS
from tests.faults.rows import Row, play_short


@pytest.mark.parametrize(
    "row",
    [EVERY_NOTIFICATION, FAULTY_MAIL, SILENT_ADDRESSES, RESTARTS],
    ids=lambda row: row.name,
)
def test_everybody_is_mailed_of_everything_once(row: Row, tmp_path: Path) -> None:
    play_short(row, tmp_path)
