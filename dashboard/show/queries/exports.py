"""Files to take away: what a page shows, as CSV that a spreadsheet opens without computing it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.reason import explain
from dashboard.domain.spreadsheet import write_csv
from dashboard.show.queries.source import Source
from dashboard.show.text import moment

_REJECTIONS: Final = (
    "network_id",
    "network",
    "is_simulated",
    "tx_hash",
    "sender",
    "nonce",
    "stage",
    "module",
    "lines_needed",
    "lines_allowed",
    "why",
    "reason_as_sent",
    "dated_by_the_node",
    "first_seen_here",
    "block_number",
)


def rejections_csv(rejections: Iterable[StoredRejection], source: Source) -> str:
    """Write one line for each rejection, with the reason in words and as it was sent."""
    return write_csv(_REJECTIONS, (_row(each, source) for each in rejections))


def _row(stored: StoredRejection, source: Source) -> tuple[str | int | None, ...]:
    record = stored.record
    reason = source.reason_of(stored)
    return (
        stored.network_id,
        source.network_name(stored.network_id),
        "yes" if source.is_simulated(stored.network_id) else "no",
        str(record.tx_hash),
        str(record.sender),
        record.nonce,
        record.tx_rejection_stage,
        reason.module,
        reason.count,
        reason.limit,
        explain(reason),
        record.reason_message,
        moment(record.timestamp),
        moment(stored.first_seen_at),
        record.block_number,
    )
