"""Reasons that Linewatch cannot read: each text as sent, with how often it came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dashboard.domain.foreign_text import visible
from dashboard.show.parts.markup import Markup, element
from dashboard.show.parts.table import table
from dashboard.show.text import moment
from dashboard.store.rejections.unread_reasons import UnparsedReason

_COLUMNS: Final = ("Reason as the network sent it", "Rejections", "Last seen (UTC)")
_LONGEST_TEXT: Final = 400


def unknown_reason_table(reasons: Sequence[UnparsedReason]) -> Markup:
    """Build the table; the texts are foreign, and escaped."""
    rows = [
        (
            element("code", visible(each.text, _LONGEST_TEXT)),
            f"{each.count:,}",
            element("time", moment(each.last_seen_at)),
        )
        for each in reasons
    ]
    return table(_COLUMNS, rows, "Unknown reasons")
