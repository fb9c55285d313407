"""Rejections: every version of a record that nodes reported to us or that we saw upstream."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    case,
    select,
    type_coerce,
    update,
)

from dashboard.domain.exclusion import (
    LARGEST_LEAD,
    QUERYABLE_WINDOW,
    RejectedTransaction,
    RejectionSource,
    RejectionStage,
    StoredRejection,
)
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.reason import parse_reason
from dashboard.store.engine.upsert import insert_new
from dashboard.store.rejections.counter_updates import count_in
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import Moment, milliseconds_of
from dashboard.store.schema.rejection_rows import record_of, stored_rejection

SEEN_TO_THE: Final = timedelta(hours=1)
"""A poll that shows what is known writes nothing more often: `seen_again_at` is that exact."""

_CLAIMED: Final = type_coerce(rejections.c.timestamp, BigInteger)
_ARRIVED: Final = type_coerce(rejections.c.first_seen_at, BigInteger)
_IS_DATED_AHEAD: Final = LARGEST_LEAD // timedelta(milliseconds=1) < _CLAIMED - _ARRIVED
_BELIEVED: Final = type_coerce(case((_IS_DATED_AHEAD, _ARRIVED), else_=_CLAIMED), Moment)
"""The claimed time; of a version that is dated ahead of our clock, when it arrived."""

NEWEST_CLAIM_FIRST: Final = (_IS_DATED_AHEAD, _BELIEVED.desc(), rejections.c.rejection_id.desc())
"""How versions of a hash rank: by claimed time, those that are dated ahead of our clock last."""


def save_polled(
    connection: Connection, network_id: NetworkId, record: RejectedTransaction, now: datetime
) -> int:
    """Keep a version that upstream showed; return its id, the same for the same version.

    One that is there already is marked as seen again, at most once in `SEEN_TO_THE`.
    """
    column = rejections.c
    row = row_of_record(record, network_id, now) | {"source": RejectionSource.POLLED}
    if insert_new(connection, rejections, row):
        count_in(connection, [row])
    query = select(column.rejection_id, column.first_seen_at, column.seen_again_at)
    held = connection.execute(query.where(*_is_version(record, network_id))).one()
    if now - (held.seen_again_at or held.first_seen_at) >= SEEN_TO_THE:
        of_version = update(rejections).where(column.rejection_id == held.rejection_id)
        connection.execute(of_version.values(seen_again_at=now))
    rejection_id: int = held.rejection_id
    return rejection_id


def visible(
    connection: Connection, network_ids: Sequence[NetworkId], tx_hash: TxHash, now: datetime
) -> RejectedTransaction | None:
    """Return the record with the newest claimed time inside seven days, inclusive, or None.

    Of two with the same claimed time, the one that arrived later. One that is dated ahead of our
    clock is returned only where there is no other, for seven days from its arrival.
    """
    row = connection.execute(_visible(network_ids, tx_hash, now)).mappings().one_or_none()
    return None if row is None else record_of(row)


def visible_version(
    connection: Connection, network_ids: Sequence[NetworkId], tx_hash: TxHash, now: datetime
) -> StoredRejection | None:
    """Return the same record as it stands in the archive."""
    row = connection.execute(_visible(network_ids, tx_hash, now)).mappings().one_or_none()
    return None if row is None else stored_rejection(row)


def versions(connection: Connection, tx_hash: TxHash) -> list[StoredRejection]:
    """Return every version of a hash on every network, newest claimed time first."""
    return versions_among(connection, [tx_hash])[tx_hash]


def versions_among(
    connection: Connection, hashes: Sequence[TxHash]
) -> dict[TxHash, list[StoredRejection]]:
    """Return the same of each of these hashes."""
    found: dict[TxHash, list[StoredRejection]] = {each: [] for each in hashes}
    query = select(rejections).where(rejections.c.tx_hash.in_(hashes)).order_by(*NEWEST_CLAIM_FIRST)
    for each in _stored(connection, query):
        found[each.record.tx_hash].append(each)
    return found


def newest(
    connection: Connection, limit: int, network_id: NetworkId | None = None
) -> list[StoredRejection]:
    """Return what arrived last, latest arrival first: claimed times can be late, or made up."""
    query = (
        select(rejections)
        .order_by(rejections.c.first_seen_at.desc(), rejections.c.rejection_id.desc())
        .limit(limit)
    )
    if network_id is not None:
        query = query.where(rejections.c.network_id == network_id)
    return _stored(connection, query)


def _visible(network_ids: Sequence[NetworkId], tx_hash: TxHash, now: datetime) -> Select[Any]:
    return (
        select(rejections)
        .where(rejections.c.tx_hash == tx_hash, rejections.c.network_id.in_(network_ids))
        .where(now - QUERYABLE_WINDOW <= _BELIEVED)
        .order_by(*NEWEST_CLAIM_FIRST)
        .limit(1)
    )


def _stored(connection: Connection, query: Select[Any]) -> list[StoredRejection]:
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def row_of_record(
    record: RejectedTransaction, network_id: NetworkId, now: datetime
) -> dict[str, Any]:
    """Return the columns of a version that arrives now and was not reported."""
    reason = parse_reason(record.reason_message)
    return {
        "network_id": network_id,
        "tx_hash": record.tx_hash,
        "sender": record.sender,
        "nonce": record.nonce,
        "tx_rejection_stage": record.tx_rejection_stage.value,
        "reason_message": record.reason_message,
        "timestamp": record.timestamp,
        "block_number": record.block_number,
        "first_seen_at": now,
        "version_digest": version_digest(record),
        "reason_kind": reason.kind.value,
        "module": reason.module,
    }


def _is_version(
    record: RejectedTransaction, network_id: NetworkId
) -> tuple[ColumnElement[bool], ...]:
    return (
        rejections.c.tx_hash == record.tx_hash,
        rejections.c.network_id == network_id,
        rejections.c.version_digest == version_digest(record),
    )


def version_digest(record: RejectedTransaction) -> bytes:
    """Digest what a reader is shown: the block number only from the sequencer."""
    is_block_shown = record.tx_rejection_stage is RejectionStage.SEQUENCER
    shown = (
        record.sender.hex(),
        record.nonce,
        record.tx_rejection_stage.value,
        record.reason_message,
        milliseconds_of(record.timestamp),
        record.block_number if is_block_shown else None,
    )
    return digest(repr(shown))


def digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
