"""Tracked transactions: the hashes that people asked us to watch, and on which networks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    func,
    literal,
    select,
    update,
)

from dashboard.domain.condition import State, SubjectKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.columns import ForeignText, Moment
from dashboard.store.schema import checks, conditions, tracked_transactions
from dashboard.store.schema import watches as watch_rows
from dashboard.store.upsert import insert_new


@dataclass(frozen=True, slots=True)
class TrackRequest:
    """A wish to watch a hash on some networks; `attempted_at` is when it was sent, if known."""

    tx_hash: TxHash
    network_ids: tuple[NetworkId, ...]
    attempted_at: datetime | None
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class TrackedTransaction:
    """A hash that is watched, and where; `label` and `note` are as people wrote them."""

    tx_hash: TxHash
    network_ids: tuple[NetworkId, ...]
    tracked_at: datetime
    attempted_at: datetime | None
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class Watch:
    """One hash to ask one network about, with what the poller's schedule depends on.

    `failing_since` is set where the last question got no answer.
    """

    watch_id: int
    network_id: NetworkId
    tx_hash: TxHash
    tracked_at: datetime
    attempted_at: datetime | None
    last_asked_at: datetime | None
    failing_since: datetime | None
    state: State | None


def track(connection: Connection, request: TrackRequest, now: datetime) -> bool:
    """Watch a hash on the networks asked for; True if one of them is new.

    Of a hash that is tracked already, only what was unknown is filled in.
    """
    row = {
        "tx_hash": request.tx_hash,
        "tracked_at": now,
        "attempted_at": request.attempted_at,
        "label": request.label,
        "note": request.note,
    }
    if not insert_new(connection, tracked_transactions, row):
        _fill_in(connection, request)
    added = [
        insert_new(
            connection,
            watch_rows,
            {"tx_hash": request.tx_hash, "network_id": network_id, "tracked_at": now},
        )
        for network_id in request.network_ids
    ]
    return any(added)


def watches(connection: Connection, after: int) -> list[Watch]:
    """Return what is watched with a larger watch id than `after`, oldest first; 0 for all."""
    is_of_watch = and_(
        conditions.c.tx_hash == watch_rows.c.tx_hash,
        conditions.c.network_id == watch_rows.c.network_id,
        conditions.c.kind == SubjectKind.TRANSACTION,
    )
    query = (
        select(
            *watch_rows.c["watch_id", "network_id", "tx_hash", "tracked_at"],
            tracked_transactions.c.attempted_at,
            *checks.c["last_asked_at", "failing_since"],
            conditions.c.state,
        )
        .select_from(watch_rows)
        .join(tracked_transactions, tracked_transactions.c.tx_hash == watch_rows.c.tx_hash)
        .outerjoin(checks, _is_check_of_watch())
        .outerjoin(conditions, is_of_watch)
        .where(watch_rows.c.watch_id > after)
        .order_by(watch_rows.c.watch_id)
    )
    return [
        Watch(**{**row, "state": row["state"] and State(row["state"])})
        for row in connection.execute(query).mappings()
    ]


def is_tracked(connection: Connection, tx_hash: TxHash) -> bool:
    """Whether somebody asked us to watch the hash."""
    query = select(tracked_transactions.c.tx_hash).where(tracked_transactions.c.tx_hash == tx_hash)
    return connection.execute(query).first() is not None


def tracked(connection: Connection, limit: int) -> list[TrackedTransaction]:
    """Return what is tracked, the latest first."""
    return tracked_of(connection, select_tracked().limit(limit))


def select_tracked() -> Select[Any]:
    """Select what is tracked, the latest first, for `tracked_of`."""
    column = tracked_transactions.c
    return select(tracked_transactions).order_by(column.tracked_at.desc(), column.tx_hash)


def tracked_of(connection: Connection, query: Select[Any]) -> list[TrackedTransaction]:
    """Read the rows of a `select_tracked`, each with the networks on which it is watched."""
    rows = connection.execute(query).all()
    networks = _networks_watched(connection, [row.tx_hash for row in rows])
    return [
        TrackedTransaction(
            row.tx_hash,
            tuple(networks[row.tx_hash]),
            row.tracked_at,
            row.attempted_at,
            row.label,
            row.note,
        )
        for row in rows
    ]


def _is_check_of_watch() -> ColumnElement[bool]:
    return and_(
        checks.c.tx_hash == watch_rows.c.tx_hash, checks.c.network_id == watch_rows.c.network_id
    )


def _networks_watched(
    connection: Connection, hashes: Sequence[TxHash]
) -> defaultdict[TxHash, list[NetworkId]]:
    query = select(*watch_rows.c["watch_id", "tx_hash", "network_id"]).where(
        watch_rows.c.tx_hash.in_(hashes)
    )
    networks: defaultdict[TxHash, list[NetworkId]] = defaultdict(list)
    for row in sorted(connection.execute(query)):
        networks[row.tx_hash].append(row.network_id)
    return networks


def _fill_in(connection: Connection, request: TrackRequest) -> None:
    column = tracked_transactions.c
    wish = {
        "attempted_at": literal(request.attempted_at, Moment),
        "label": literal(request.label, ForeignText),
        "note": literal(request.note, ForeignText),
    }
    filled = {
        "attempted_at": func.coalesce(column.attempted_at, wish["attempted_at"]),
        "label": case((column.label == "", wish["label"]), else_=column.label),
        "note": case((column.note == "", wish["note"]), else_=column.note),
    }
    of_request = update(tracked_transactions).where(column.tx_hash == request.tx_hash)
    connection.execute(of_request.values(**filled))
