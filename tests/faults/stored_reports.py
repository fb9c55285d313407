"""What a store must hold after a fault, looked at with SQLite itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from tests.faults.reporters import SentReport

_TWICE: Final = """
    SELECT count(*) FROM (
        SELECT 1 FROM rejections WHERE reported_reason_digest IS NOT NULL
        GROUP BY tx_hash, network_id, reported_reason_digest HAVING count(*) > 1
        UNION ALL
        SELECT 1 FROM rejections GROUP BY tx_hash, network_id, version_digest HAVING count(*) > 1
    )
"""
_HALF: Final = """
    SELECT count(*) FROM rejections LEFT JOIN signed_transactions USING (tx_hash)
    WHERE reported_at IS NOT NULL
      AND (raw IS NULL OR reported_reason_digest IS NULL OR overflows IS NULL)
"""


def stored_reports(path: Path) -> set[tuple[str, str]]:
    """Return hash and reason of every report that is on disk."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT tx_hash, reason_message FROM rejections")
        return {(f"0x{tx_hash.hex()}", reason) for tx_hash, reason in rows}


def check_store(path: Path, acknowledged: Iterable[SentReport], sent: Iterable[SentReport]) -> None:
    """Raise AssertionError unless the store is whole and holds what was acknowledged."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute(_TWICE).fetchone() == (0,), "a report is stored twice"
        assert connection.execute(_HALF).fetchone() == (0,), "a report is stored in part"
    stored = stored_reports(path)
    lost = {(each.tx_hash, each.reason) for each in acknowledged} - stored
    assert not lost, f"{len(lost)} acknowledged reports are lost, such as {min(lost)}"
    strange = stored - {(each.tx_hash, each.reason) for each in sent}
    assert not strange, f"{len(strange)} stored reports were never sent, such as {min(strange)}"
