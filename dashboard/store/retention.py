"""Retention: what is forgotten in time, in steps so small that nobody waits for them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, select, tuple_

from dashboard.store.engine import Store
from dashboard.store.schema import estimated_base_fees, fee_marks, suggested_gas_fees

STEP: Final = 500
"""Rows of one table that one transaction forgets."""

_DATED: Final = (
    (suggested_gas_fees, suggested_gas_fees.c.asked_at),
    (estimated_base_fees, estimated_base_fees.c.at),
    (fee_marks, fee_marks.c.asked_at),
)


def keep_house(store: Store, gas_since: datetime) -> int:
    """Forget what was observed of gas before `gas_since`; return how many rows that was.

    Rejections, transitions and notices are kept.
    """
    forgotten = 0
    while True:
        with store.write() as connection:
            step = forget_gas(connection, gas_since)
        if step == 0:
            return forgotten
        forgotten += step


def forget_gas(connection: Connection, since: datetime, limit: int = STEP) -> int:
    """Forget at most `limit` rows of each table from before `since`; return how many it was."""
    forgotten = 0
    for table, dated in _DATED:
        key = tuple_(*table.primary_key)
        old = select(*table.primary_key).where(dated < since).limit(limit)
        forgotten += connection.execute(delete(table).where(key.in_(old))).rowcount
    return forgotten
