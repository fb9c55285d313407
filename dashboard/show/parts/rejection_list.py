"""Rejections as a table: when, where, which module, how far over, and why in words."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.domain.exclusion import CLOCK_IS_WRONG, StoredRejection
from dashboard.domain.reason import Reason, overrun
from dashboard.show.parts.badges import badge
from dashboard.show.parts.links import lookup_link
from dashboard.show.parts.markup import Markup, breakable, element, join
from dashboard.show.parts.rejection import dated_apart, reason_words
from dashboard.show.parts.table import table
from dashboard.show.queries.source import Source
from dashboard.show.text import moment

_COLUMNS = ("Seen (UTC)", "Network", "Stage", "Module", "Lines", "Why", "Transaction")


def rejection_table(rejections: Sequence[StoredRejection], source: Source) -> Markup:
    """Build the table; times are absolute, so that a refresh changes nothing that stays true."""
    rows = [_row(each, source) for each in rejections]
    return table(_COLUMNS, rows, "Rejections")


def _row(stored: StoredRejection, source: Source) -> tuple[Markup | str, ...]:
    record = stored.record
    reason = source.reason_of(stored)
    wrong = f". {CLOCK_IS_WRONG}" if stored.is_dated_ahead else ""
    dated = f"dated {moment(record.timestamp)} by the node{wrong}"
    seen = join(
        element("time", f"{stored.first_seen_at:%d %b %H:%M:%S}", title=dated),
        element("small", f" {dated_apart(stored)}"),
    )
    return (
        seen,
        source.network_name(stored.network_id),
        badge("bad", "✕", record.tx_rejection_stage),
        breakable(reason.module or ""),
        _lines(reason),
        reason_words(reason),
        lookup_link(record.tx_hash),
    )


def _lines(reason: Reason) -> Markup | str:
    """Print lines needed of lines allowed, and by which factor that is too much."""
    if reason.limit is None:
        return ""
    if reason.count is None:
        return element("small", f"limit {reason.limit:,}", title=reason.limit_from)
    factor = overrun(reason)
    times = Markup() if factor is None else element("small", f"{factor:,.2f} ×")
    return join(f"{reason.count:,} of {reason.limit:,} ", times)
