"""Read rejections: every version of a hash, and the one that is answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import (
    BigInteger,
    Connection,
    case,
    func,
    select,
    type_coerce,
)

from dashboard.domain.exclusion import (
    LARGEST_LEAD,
    QUERYABLE_WINDOW,
    RejectedTransaction,
    StoredRejection,
)
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import Moment
from dashboard.store.schema.rejections import record_of, stored_rejection

_CLAIMED: Final = type_coerce(rejections.c.timestamp, BigInteger)
_ARRIVED: Final = type_coerce(rejections.c.first_seen_at, BigInteger)
_IS_DATED_AHEAD: Final = LARGEST_LEAD // timedelta(milliseconds=1) < _CLAIMED - _ARRIVED
_BELIEVED: Final = type_coerce(case((_IS_DATED_AHEAD, _ARRIVED), else_=_CLAIMED), Moment)
"""The claimed time; of a version that is dated ahead of our clock, when it arrived."""

NEWEST_CLAIM_FIRST: Final = (_IS_DATED_AHEAD, _BELIEVED.desc(), rejections.c.rejection_id.desc())
"""How versions of a hash rank: by claimed time, those that are dated ahead of our clock last."""


def queryable_record(
    connection: Connection, network_ids: Sequence[NetworkId], tx_hash: TxHash, now: datetime
) -> RejectedTransaction | None:
    """Return the record with the newest claimed time inside seven days, inclusive, or None.

    Of two with the same claimed time, the one that arrived later. One that is dated ahead of our
    clock is returned only where there is no other, for seven days from its arrival.
    """
    visible = (
        select(rejections)
        .where(rejections.c.tx_hash == tx_hash, rejections.c.network_id.in_(network_ids))
        .where(now - QUERYABLE_WINDOW <= _BELIEVED)
        .order_by(*NEWEST_CLAIM_FIRST)
        .limit(1)
    )
    row = connection.execute(visible).mappings().one_or_none()
    return None if row is None else record_of(row)


def versions_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, list[StoredRejection]]:
    """Return every version of each hash on every network, newest claimed time first."""
    found: dict[TxHash, list[StoredRejection]] = {each: [] for each in hashes}
    query = select(rejections).where(rejections.c.tx_hash.in_(hashes)).order_by(*NEWEST_CLAIM_FIRST)
    for row in connection.execute(query).mappings():
        found[row.tx_hash].append(stored_rejection(row))
    return found


def count_versions(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[tuple[NetworkId, TxHash], int]:
    """Count the versions of each hash on each network."""
    column = rejections.c
    pair = (column.network_id, column.tx_hash)
    query = select(*pair, func.count()).where(column.tx_hash.in_(hashes)).group_by(*pair)
    return {(network_id, tx_hash): many for network_id, tx_hash, many in connection.execute(query)}
