"""Rejections as people look for them: by network, stage, module, sender and time of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, select

from dashboard.domain.exclusion import RejectionStage, StoredRejection
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.reason import ReasonKind
from dashboard.store.rejections import stored_rejection
from dashboard.store.schema import rejections


@dataclass(frozen=True, slots=True)
class RejectionFilter:
    """What is looked for; what is None may be anything.

    `since` and `until`, both included, bound the arrival here: claimed times can be late, or
    made up. `module` is the prover module that the reason names, as it is written there.
    """

    network_id: NetworkId | None = None
    tx_rejection_stage: RejectionStage | None = None
    module: str | None = None
    reason_kind: ReasonKind | None = None
    sender: Address | None = None
    tx_hash: TxHash | None = None
    since: datetime | None = None
    until: datetime | None = None


def search(
    connection: Connection, wanted: RejectionFilter, limit: int | None = None
) -> list[StoredRejection]:
    """Return the rejections that fit, the latest arrival first, at most `limit`."""
    query = _query(wanted).limit(limit)
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def _query(wanted: RejectionFilter) -> Select[Any]:
    column = rejections.c
    return (
        select(rejections)
        .where(*_conditions(wanted))
        .order_by(column.first_seen_at.desc(), column.rejection_id.desc())
    )


def _conditions(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    column = rejections.c
    for of_row, value in (
        (column.network_id, wanted.network_id),
        (column.tx_rejection_stage, wanted.tx_rejection_stage),
        (column.module, wanted.module),
        (column.reason_kind, wanted.reason_kind),
        (column.sender, wanted.sender),
        (column.tx_hash, wanted.tx_hash),
    ):
        if value is not None:
            yield of_row == value
    if wanted.since is not None:
        yield column.first_seen_at >= wanted.since
    if wanted.until is not None:
        yield column.first_seen_at <= wanted.until
