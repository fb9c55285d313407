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
    made up. `module` is the prover module that the reason names, as it is written there;
    an empty one finds reasons that name none. `text` stands in the reason as sent, in either
    case.
    """

    network_id: NetworkId | None = None
    tx_rejection_stage: RejectionStage | None = None
    module: str | None = None
    reason_kind: ReasonKind | None = None
    sender: Address | None = None
    tx_hash: TxHash | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""


def search(
    connection: Connection, wanted: RejectionFilter, limit: int | None = None, skipped: int = 0
) -> list[StoredRejection]:
    """Return the rejections that fit after the first `skipped`, at most `limit`.

    The latest arrival comes first.
    """
    query = _query(wanted).limit(limit).offset(skipped)
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def _query(wanted: RejectionFilter) -> Select[Any]:
    column = rejections.c
    return (
        select(rejections)
        .where(*conditions_of(wanted))
        .order_by(column.first_seen_at.desc(), column.rejection_id.desc())
    )


def conditions_of(wanted: RejectionFilter) -> Iterator[ColumnElement[bool]]:
    """Yield what rows of the table must fulfil."""
    column = rejections.c
    for of_row, value in (
        (column.network_id, wanted.network_id),
        (column.tx_rejection_stage, wanted.tx_rejection_stage),
        (column.module, wanted.module or None),
        (column.reason_kind, wanted.reason_kind),
        (column.sender, wanted.sender),
        (column.tx_hash, wanted.tx_hash),
    ):
        if value is not None:
            yield of_row == value
    if wanted.module == "":
        yield column.module.is_(None)
    if wanted.text:
        yield column.reason_message.icontains(wanted.text, autoescape=True)
    if wanted.since is not None:
        yield column.first_seen_at >= wanted.since
    if wanted.until is not None:
        yield column.first_seen_at <= wanted.until
