"""Links inside tables of our own, built from a hash and nothing else."""

from __future__ import annotations

from dashboard.domain.quantity import TxHash
from dashboard.show.parts.markup import Markup, element
from dashboard.show.text import short_hash


def lookup_link(tx_hash: TxHash) -> Markup:
    """Link to what is known of a transaction; the ends of the hash stand for it."""
    return element(
        "a",
        short_hash(tx_hash),
        href=f"lookup?tx={tx_hash}",
        target="_self",
        title=str(tx_hash),
        class_="lw-mono",
    )
