"""Each look enters an index right after the row that was seen last, however far that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Column, Select, select

from dashboard.domain.fees.gas import RollupLevel
from dashboard.store.engine.batching import after_row
from dashboard.store.engine.engine import Store
from dashboard.store.schema import checks, fee_rollups, follow_ups, rejections
from tests.builders import A_MOMENT, A_NETWORK, a_hash
from tests.unit.store.old_rows import a_roll_up
from tests.unit.store.test_indexes import plan_of, prefer_indexes

WALKS = {
    "checks": (checks.c["tx_hash", "network_id"], (a_hash(), A_NETWORK)),
    "follow_ups": (follow_ups.c["tx_hash", "network_id"], (a_hash(), A_NETWORK)),
    "fee_rollups": (fee_rollups.c["network_id", "series", "level"], (A_NETWORK, 1, 2)),
    "rejections": (rejections.c["first_seen_at", "rejection_id"], (A_MOMENT, 5)),
}
ENTRIES = {
    ("sqlite", "checks"): "PRIMARY KEY ((tx_hash,network_id)>(?,?))",
    ("sqlite", "follow_ups"): "PRIMARY KEY ((tx_hash,network_id)>(?,?))",
    ("sqlite", "fee_rollups"): "PRIMARY KEY ((network_id,series,level)>(?,?,?))",
    ("sqlite", "rejections"): "INDEX ix_rejections_arrival (first_seen_at>?",
    ("postgresql", "checks"): "Index Cond: (ROW(tx_hash, network_id) > ROW(",
    ("postgresql", "follow_ups"): "Index Cond: (ROW(tx_hash, network_id) > ROW(",
    ("postgresql", "fee_rollups"): "Index Cond: (ROW(network_id, series, level) > ROW(",
    ("postgresql", "rejections"): "Index Cond: (ROW(first_seen_at, rejection_id) > ROW(",
}


def walk(order: Sequence[Column[Any]], last: Sequence[Any] | None) -> Select[Any]:
    """Return the look that goes on after a row."""
    return select(*order).where(*after_row(order, last)).order_by(*order).limit(2)


@pytest.mark.parametrize("name", WALKS)
def test_look_enters_the_index_where_the_last_one_ended(
    store: Store, database: str, name: str
) -> None:
    order, last = WALKS[name]
    with store.read() as connection:
        prefer_indexes(connection)
        steps = plan_of(connection, lambda it: it.execute(walk(list(order), last)).all())

    assert [step for step in steps if ENTRIES[database, name] in step], steps


def test_walk_meets_each_row_once_in_order(store: Store) -> None:
    places = [(number, series, 1) for number in (1, 2, 10) for series in (1, 2, 3)]
    rows = [
        a_roll_up(RollupLevel.MINUTE, begins_at) | {"network_id": number, "series": series}
        for number, series, begins_at in reversed(places)
    ]
    order = list(fee_rollups.c["network_id", "series", "begins_at"])
    with store.write() as connection:
        connection.execute(fee_rollups.insert(), rows)

    met: list[tuple[Any, ...]] = []
    with store.read() as connection:
        while found := connection.execute(walk(order, met[-1] if met else None)).all():
            met += map(tuple, found)

    assert met == places
