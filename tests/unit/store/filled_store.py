"""A store in which something of every kind happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from dashboard.domain.gas import GasObservation
from dashboard.domain.quantity import TxHash
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.save_rejections import save_report
from dashboard.store.gas import save_gas
from dashboard.store.maintenance.copy import read_table
from dashboard.store.schema import metadata
from dashboard.store.tracking.transactions import TrackRequest, track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    GWEI,
    a_hash,
    a_report,
    seconds,
    suggested_gas_fees,
)
from tests.unit.store.pending_notifications import claim_due, make_pending, take_lease

A_DAY: Final = timedelta(days=1)
HOSTILE: Final = "back\\slash, \t tab, \n line, \0 nothing, \ud800 half, 😀, 'quote\""


def live_in(store: Store) -> None:
    """Watch fees, track, take reports, conclude, owe and claim."""
    make_pending(store, count=3)
    claim_due(store, take_lease(store), limit=1)
    with store.write() as connection:
        for number in range(3):
            at = A_MOMENT + seconds(number)
            fees = suggested_gas_fees()
            save_gas(
                connection,
                GasObservation(
                    A_NETWORK,
                    at,
                    suggested_gas_fees=fees,
                    base_fee_history=(5 * GWEI, 6 * GWEI),  # type: ignore[arg-type]  # wei are ints
                ),
                block_time=seconds(2),
            )
        for number in range(4, 8):
            keep_report(connection, a_hash(number))
        track(connection, TrackRequest(a_hash(9), (A_NETWORK,), A_MOMENT, HOSTILE), A_MOMENT)


def keep_report(connection: Connection, tx_hash: TxHash) -> None:
    """Keep the report of one rejection, whose reason is hard to copy."""
    report = a_report(tx_hash=tx_hash, raw=bytes(range(256)), reason_message=HOSTILE)
    save_report(connection, report, A_NETWORK, A_MOMENT)


def content(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables, in the same form from either database."""
    return {
        table.name: sorted(
            (row for rows in read_table(connection, table) for row in rows), key=repr
        )
        for table in metadata.sorted_tables
    }


def content_of(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of an open store."""
    with store.read() as connection:
        return content(connection)
