"""Tables: rows side by side on wide screens, one below the other on small ones."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.application.text import short_hash
from dashboard.domain.markup import Markup, element
from dashboard.domain.quantity import TxHash


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> Markup:
    """Build a table; `name` says what it holds to people who cannot see it.

    A cell is Markup or foreign text. An empty cell takes no room on a small screen.
    """
    head = element("thead", element("tr", *(element("th", each, scope="col") for each in columns)))
    body = element("tbody", *(_row(columns, row) for row in rows))
    return element("table", head, body, class_="lw-table", aria_label=name)


def _row(columns: Sequence[str], row: Sequence[str]) -> Markup:
    cells = (
        element("td", element("div", cell), data_label=column, class_=None if cell else "is-empty")
        for column, cell in zip(columns, row, strict=True)
    )
    return element("tr", *cells)


def row_head(heads: Sequence[str], class_: str) -> Markup:
    """Name the columns above `row_cells` of the same class, whose first word gets `-head` here."""
    cells = (element("span", each) for each in heads)
    kind = class_.partition(" ")[0]
    return element("div", *cells, class_=f"{class_} {kind}-head", aria_hidden="true")


def row_cells(heads: Sequence[str], values: Sequence[str], class_: str) -> Markup:
    """Build the cells of one row; a screen reader says the name of a column before each."""
    cells = (
        element("span", element("span", f"{head}: ", class_="lw-sr"), value)
        for head, value in zip(heads, values, strict=True)
    )
    return element("div", *cells, class_=class_)


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
