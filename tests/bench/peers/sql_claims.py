"""A worker as people write it: rows that are due are claimed by SQL, and asked about by web3.py."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from dashboard.domain.quantity import TxHash

AT_ONCE: Final = 1_000
"""Rows of one claim."""

_SETUP: Final = """\
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE tracked (
    tx_hash BLOB PRIMARY KEY, born REAL NOT NULL, due REAL NOT NULL,
    claimed_until REAL NOT NULL, answered_at REAL, record TEXT
);
CREATE INDEX by_due ON tracked (due);
"""
_CLAIM: Final = """\
UPDATE tracked SET claimed_until = :now + 60 WHERE tx_hash IN (
    SELECT tx_hash FROM tracked WHERE due <= :now AND claimed_until < :now ORDER BY due LIMIT :many
) RETURNING tx_hash, born
"""
_STORE: Final = """\
UPDATE tracked SET due = ?, claimed_until = 0, answered_at = ?, record = ? WHERE tx_hash = ?
"""


class SqlClaims:
    """Hashes in a table of their own, each with the time when it is due; `ask` asks about some."""

    def __init__(
        self, file: Path, hashes: Iterable[TxHash], ask: Callable[[list[str]], list[Any]]
    ) -> None:
        """Track the hashes, as if one came every second until now."""
        self._ask = ask
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.executescript(_SETUP)
        rows = [(each, -float(age), self._next(-age, 0.0)) for age, each in enumerate(hashes)]
        self._connection.execute("BEGIN")
        insert = "INSERT INTO tracked VALUES (?, ?, ?, 0, NULL, NULL)"
        self._connection.executemany(insert, rows)
        self._connection.execute("COMMIT")

    def turn(self, claims: int) -> float:
        """Return the microseconds of CPU that one check took, of some whole cycles."""
        cpu = 0.0
        for _ in range(claims):
            when = "SELECT due FROM tracked ORDER BY due LIMIT 1 OFFSET ?"
            (now,) = self._connection.execute(when, (AT_ONCE - 1,)).fetchone()
            begun = time.process_time()
            self._cycle(now)
            cpu += time.process_time() - begun
        return cpu * 1e6 / (claims * AT_ONCE)

    def _cycle(self, now: float) -> None:
        given = {"now": now, "many": AT_ONCE}
        claimed = self._connection.execute(_CLAIM, given).fetchall()
        answers = self._ask([f"0x{tx_hash.hex()}" for tx_hash, _ in claimed])
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(
            _STORE,
            [
                (self._next(born, now), now, None if answer is None else str(answer), tx_hash)
                for (tx_hash, born), answer in zip(claimed, answers, strict=True)
            ],
        )
        self._connection.execute("COMMIT")

    def _next(self, born: float, now: float) -> float:
        """Decide when to ask again: more seldom the older it is."""
        return now + max(5.0, 0.5 * math.pow(now - born, 0.75))

    def close(self) -> None:
        self._connection.close()
