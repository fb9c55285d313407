"""Rejections as people look for them: by network, stage, module, sender and time of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Select, select

from dashboard.domain.exclusion import RejectionStage, StoredRejection
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.reason import parse_reason
from dashboard.store.rejections import stored_rejection
from dashboard.store.schema import rejections

_AT_A_TIME: Final = 500


@dataclass(frozen=True, slots=True)
class RejectionFilter:
    """What is looked for; what is None may be anything.

    `since` and `until`, both included, bound the arrival here: claimed times can be late, or
    made up. `module` is the prover module that the reason names, as it is written there.
    """

    network_id: NetworkId | None = None
    tx_rejection_stage: RejectionStage | None = None
    module: str | None = None
    sender: Address | None = None
    tx_hash: TxHash | None = None
    since: datetime | None = None
    until: datetime | None = None


def search(
    connection: Connection, wanted: RejectionFilter, limit: int | None = None
) -> list[StoredRejection]:
    """Return the rejections that fit, the latest arrival first, at most `limit`."""
    found = _found(connection, wanted)
    if wanted.module is not None:
        found = (each for each in found if _module_of(each) == wanted.module)
    return list(islice(found, limit))


def _found(connection: Connection, wanted: RejectionFilter) -> Iterator[StoredRejection]:
    """Yield what fits but for the module, which is told from the text of the reason."""
    query = _query(wanted).execution_options(yield_per=_AT_A_TIME)
    rows = connection.execute(query).mappings()
    return (stored_rejection(row) for row in rows)


def _query(wanted: RejectionFilter) -> Select[Any]:
    column = rejections.c
    query = select(rejections).order_by(column.first_seen_at.desc(), column.rejection_id.desc())
    for of_row, value in (
        (column.network_id, wanted.network_id),
        (column.tx_rejection_stage, wanted.tx_rejection_stage),
        (column.sender, wanted.sender),
        (column.tx_hash, wanted.tx_hash),
    ):
        if value is not None:
            query = query.where(of_row == value)
    if wanted.since is not None:
        query = query.where(column.first_seen_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(column.first_seen_at <= wanted.until)
    if wanted.module is not None:
        query = query.where(column.reason_message.contains(wanted.module, autoescape=True))
    return query


def _module_of(rejection: StoredRejection) -> str | None:
    return parse_reason(rejection.record.reason_message).module
