"""What pages and conditions ask of stored fees, read as bare numbers, since it is read often."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, select

from dashboard.domain.fee_percentiles import RankedFees
from dashboard.domain.observation import GasSource, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.driver import read_rows
from dashboard.store.schema import fee_marks, suggested_gas_fees
from dashboard.store.schema.columns import milliseconds_of

_PRIORITY_FEES: Final = (
    "SELECT medium_max_priority_fee FROM suggested_gas_fees "
    "WHERE network_id = ? AND asked_at BETWEEN ? AND ?"
)


def priority_fee_window(
    connection: Connection, network_id: NetworkId, since: datetime, until: datetime
) -> RankedFees:
    """Return the medium suggested priority fees of a time, both ends included."""
    span = (network_id, milliseconds_of(since), milliseconds_of(until))
    return RankedFees(fee for (fee,) in read_rows(connection, _PRIORITY_FEES, span))


def fees_answered_at(
    connection: Connection, network_id: NetworkId, now: datetime
) -> datetime | None:
    """Return when suggested fees were told last, by whomever.

    What is dated after `now` is passed over: it was stored by a clock that was ahead.
    """
    seen = suggested_gas_fees.c
    query = select(seen.asked_at).where(seen.network_id == network_id, seen.asked_at <= now)
    return _newest(connection, query)


def mark_answered_by_api_at(
    connection: Connection, network_id: NetworkId, now: datetime
) -> datetime | None:
    """Return when one of the two was told last by who is asked first, not by a node instead.

    What is dated after `now` is passed over here as well.
    """
    marks = fee_marks.c
    found = (
        _newest(
            connection,
            _marks(network_id, operation).where(
                marks.source != GasSource.NODE_INSTEAD, marks.asked_at <= now
            ),
        )
        for operation in (Operation.BASE_FEE_PERCENTILE, Operation.BUSY_THRESHOLD)
    )
    return max((each for each in found if each is not None), default=None)


def _marks(network_id: NetworkId, operation: Operation) -> Select[Any]:
    return select(fee_marks.c.asked_at).where(
        fee_marks.c.network_id == network_id, fee_marks.c.operation == operation
    )


def _newest(connection: Connection, query: Select[Any]) -> datetime | None:
    """Return the newest of the moments that a query selects, read off the end of its index."""
    (at,) = query.selected_columns
    found: datetime | None = connection.scalar(query.order_by(at.desc()).limit(1))
    return found
