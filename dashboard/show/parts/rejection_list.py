"""Rejections as a table: when, where, which module, how far over, and why in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason import Reason, overrun, parse_reason
from dashboard.show.parts.badges import badge
from dashboard.show.parts.links import lookup_link
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.rejection import reason_words
from dashboard.show.parts.table import table
from dashboard.show.text import moment

_COLUMNS = ("Seen (UTC)", "Network", "Stage", "Module", "Lines", "Why", "Transaction")


def rejection_table(
    rejections: Sequence[StoredRejection], network_name: Callable[[NetworkId], str]
) -> Markup:
    """Build the table; times are absolute, so that a refresh changes nothing that stays true."""
    rows = [_row(each, network_name(each.network_id)) for each in rejections]
    return table(_COLUMNS, rows, "Rejections")


def _row(stored: StoredRejection, network: str) -> tuple[Markup | str, ...]:
    record = stored.record
    reason = parse_reason(record.reason_message)
    dated = f"dated {moment(record.timestamp)} by the node"
    seen = element("time", f"{stored.first_seen_at:%d %b %H:%M:%S}", title=dated)
    return (
        seen,
        network,
        badge("bad", "✕", record.tx_rejection_stage),
        reason.module or "",
        _lines(reason),
        reason_words(reason),
        lookup_link(record.tx_hash),
    )


def _lines(reason: Reason) -> Markup | str:
    """Print lines needed of lines allowed, and by which factor that is too much."""
    if reason.count is None or reason.limit is None:
        return ""
    factor = overrun(reason)
    times = Markup() if factor is None else element("small", f"{factor:,.2f} ×")
    return join(f"{reason.count:,} of {reason.limit:,} ", times)
