"""Which rejections can be seen at all, said wherever rejections are listed."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.show.queries.network_status import NetworkCard


def coverage(cards: Sequence[NetworkCard]) -> str:
    """Say which rejections can be seen at all."""
    if cards and all(card.sees_all_reports for card in cards if card.has_exclusion):
        return "Every rejection that nodes reported to this installation."
    return "Of tracked transactions, and of nodes that report to this installation."
