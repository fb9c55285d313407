"""Gaps in what was watched, as a table: of which network, from when until when, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dashboard.domain.coverage import Gap, GapCause, Watched
from dashboard.domain.foreign_text import visible
from dashboard.show.parts.badges import badge
from dashboard.show.parts.markup import Markup, element
from dashboard.show.parts.table import table
from dashboard.show.queries.source import Source
from dashboard.show.text import moment, span

_COLUMNS: Final = ("Network", "What", "From (UTC)", "Until", "Length", "Why")
_REASON_LENGTH: Final = 200
_WHAT: Final = {Watched.FEES: "Fees", Watched.REJECTIONS: "Rejections"}
_NO_WORKER: Final = "No worker ran"


def gap_table(gaps: Sequence[Gap], source: Source, now: datetime) -> Markup:
    """Build the table."""
    return table(_COLUMNS, [_row(gap, source, now) for gap in gaps], "Gaps in what was watched")


def _row(gap: Gap, source: Source, now: datetime) -> tuple[Markup | str, ...]:
    ends = badge("busy", "!", "Lasts") if gap.ends_at is None else _time(gap.ends_at)
    return (
        source.network_name(gap.network_id),
        _WHAT[gap.watched],
        _time(gap.begins_at),
        ends,
        span(gap.length(now)),
        _NO_WORKER if gap.cause is GapCause.NOT_WATCHED else visible(gap.reason, _REASON_LENGTH),
    )


def _time(at: datetime) -> Markup:
    return element("time", f"{at:%d %b %H:%M:%S}", title=moment(at))
