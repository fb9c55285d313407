"""Senders by how many of their transactions were rejected, each leading to the list of them."""

from __future__ import annotations

from typing import Final

from dashboard.domain.quantity import Address
from dashboard.show.parts.markup import Markup, element
from dashboard.show.parts.table import table
from dashboard.show.text import share
from dashboard.store.rejections.counts import Counted

_COLUMNS: Final = ("Sender", "Rejections", "Share")


def sender_ranking(counted: Counted, length: str) -> Markup:
    """Build the table; a sender leads to the same page with the same `length` of time."""
    rows = [
        (_link(each.key, length), f"{each.count:,}", share(each.count / counted.total))
        for each in counted.groups
    ]
    return table(_COLUMNS, rows, "Senders")


def _link(sender: Address, length: str) -> Markup:
    address = f"rejections?length={length.replace(' ', '+')}&text={sender}"
    return element("a", str(sender), href=address, target="_self", class_="lw-hash")
