"""Results of queries of rejections: items with all that is known of them, pages and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dashboard.domain.exclusion import ArchivedRejection, RejectionStage, StoredRejection
from dashboard.domain.reason_explanation import overrun
from dashboard.domain.reason_parser import Reason, parse_reason
from dashboard.wire.cursor import encode_cursor
from dashboard.wire.hexadecimal import LARGEST_NUMBER
from dashboard.wire.timestamp import format_timestamp

LARGEST_ANSWER: Final = 1_000_000
"""Bytes of one page or list of versions; it ends early there, and says that there is more."""


class _OverflowJson(msgspec.Struct):
    module: str
    count: int
    limit: int


class _RejectionJson(msgspec.Struct, rename="camel", omit_defaults=True):
    network_id: str
    tx_hash: str
    sender: str = msgspec.field(name="from")
    nonce: str
    tx_rejection_stage: str
    reason_message: str
    timestamp: str
    first_seen_at: str
    reported_at: str | None
    source: str
    module: str | None
    reason_kind: str
    count: int | None
    limit: int | None
    overrun: float | None
    overflows: list[_OverflowJson]
    cursor: str
    recipient: str | UnsetType | None = UNSET
    block_number: str | None = None


def encode_rejection(archived: ArchivedRejection, installation: UUID) -> bytes:
    """Write one rejection: the members of its record, and what only our store has.

    `recipient` is left out where it is unknown, `blockNumber` as in the record. `count` and
    `limit` come from the reason, else from the overflow of the module that it names.
    """
    it = archived.rejection
    record = it.record
    reason = _with_figures(parse_reason(record.reason_message), it)
    ratio = overrun(reason)
    is_sequencer = record.tx_rejection_stage is RejectionStage.SEQUENCER
    recipient = None if archived.recipient is None else str(archived.recipient)
    return msgspec.json.encode(
        _RejectionJson(
            network_id=hex(it.network_id),
            tx_hash=str(record.tx_hash),
            sender=str(record.sender),
            nonce=hex(record.nonce),
            tx_rejection_stage=record.tx_rejection_stage,
            reason_message=record.reason_message,
            timestamp=format_timestamp(record.timestamp),
            first_seen_at=format_timestamp(it.first_seen_at),
            reported_at=None if it.reported_at is None else format_timestamp(it.reported_at),
            source="polled" if it.reported_at is None else "reported",
            module=reason.module,
            reason_kind=reason.kind,
            count=reason.count,
            limit=reason.limit,
            overrun=None if ratio is None else round(ratio, 4),
            overflows=[_OverflowJson(each.module, each.count, each.limit) for each in it.overflows],
            cursor=encode_cursor(it.rejection_id, installation),
            recipient=recipient if archived.is_signed_held else UNSET,
            block_number=hex(record.block_number)
            if is_sequencer and record.block_number is not None
            else None,
        )
    )


def within_bounds(items: Iterable[bytes], most: int = LARGEST_ANSWER) -> list[bytes]:
    """Return the first items, of at most `most` bytes together, but at least one."""
    taken: list[bytes] = []
    size = 0
    for item in items:
        size += len(item)
        if taken and size > most:
            break
        taken.append(item)
    return taken


def encode_page(items: Sequence[bytes], cursor: str | None, *, has_more: bool) -> bytes:
    """Write the result of `listRejectionsV1`."""
    rejections = [Raw(item) for item in items]
    return msgspec.json.encode({"rejections": rejections, "cursor": cursor, "hasMore": has_more})


def encode_versions(items: Sequence[bytes], *, has_more: bool) -> bytes:
    """Write the result of `getRejectionVersionsV1`."""
    return msgspec.json.encode({"versions": [Raw(item) for item in items], "hasMore": has_more})


def encode_counts(groups: Iterable[tuple[str | None, int]], of: int, total: int) -> bytes:
    """Write the result of `countRejectionsV1`."""
    written = [{"key": key, "count": count} for key, count in groups]
    return msgspec.json.encode({"total": total, "groupCount": of, "groups": written})


def _with_figures(reason: Reason, rejection: StoredRejection) -> Reason:
    """Add what a reason lacks from the overflow of its module; omit numbers above 64 bits."""
    count, limit = reason.count, reason.limit
    if reason.module is not None and count is None:
        for each in rejection.overflows:
            if each.module == reason.module:
                count, limit = each.count, each.limit
                break
    return replace(reason, count=_held(count), limit=_held(limit))


def _held(number: int | None) -> int | None:
    return number if number is not None and number <= LARGEST_NUMBER else None
