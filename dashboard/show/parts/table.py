"""Tables and lists: rows side by side on wide screens, one below the other on small ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final, Literal

import streamlit as st

from dashboard.application.listing import Cell, Item, Listing
from dashboard.application.text import age
from dashboard.domain.formatting import capitalized, moment, short_hash
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.quantity import TxHash
from dashboard.show.charts.figure import Columns
from dashboard.show.parts.frame import in_line

_FOUR_DIGITS: Final = "%.4g"
"""How a table shows a fee; what is copied or downloaded from it has every digit."""


NUMBER: Final = "lw-number"
"""The class of a cell with a number, which is aligned right."""


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    name: str,
    numbers: Collection[str] = (),
) -> Markup:
    """Build a table; `name` tells people who cannot see it what it contains.

    A cell is Markup or foreign text. An empty cell takes no room on a small screen. Columns of
    `numbers` are aligned right.
    """
    styles = [NUMBER if each in numbers else None for each in columns]
    heads = (
        element("th", each, scope="col", class_=style)
        for each, style in zip(columns, styles, strict=True)
    )
    body = element("tbody", *(_row(columns, styles, row) for row in rows))
    head = element("thead", element("tr", *heads))
    return element("table", head, body, class_="lw-table", aria_label=name)


def wide_table(columns: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> Markup:
    """Build a table of numbers beside what the first column names, with any number of columns.

    It scrolls in its box, also by the arrow keys.
    """
    shown = table(columns, rows, name, columns[1:])
    return element("div", shown, class_="lw-scroll", role="region", aria_label=name, tabindex="0")


def _row(columns: Sequence[str], styles: Sequence[str | None], row: Sequence[str]) -> Markup:
    cells = (
        element("td", element("div", cell), data_label=column, class_=style if cell else "is-empty")
        for column, style, cell in zip(columns, styles, row, strict=True)
    )
    return element("tr", *cells)


def row_head(heads: Sequence[str], class_: str, styles: Sequence[str | None] = ()) -> Markup:
    """Name the columns above `row_cells` of the same class, whose first word gets `-head` here."""
    cells = (element("span", head, class_=style) for head, style in zip_longest(heads, styles))
    kind = class_.partition(" ")[0]
    return element("div", *cells, class_=f"{class_} {kind}-head", aria_hidden="true")


def row_cells(
    heads: Sequence[str], values: Sequence[str], class_: str, styles: Sequence[str | None] = ()
) -> Markup:
    """Build the cells of one row; a screen reader reads the name of a column before each.

    `styles` are the classes of the cells.
    """
    cells = (
        element("span", element("span", f"{head}: ", class_="lw-sr"), value, class_=style)
        for head, value, style in zip_longest(heads, values, styles)
    )
    return element("div", *cells, class_=class_)


def list_head(listing: Listing[Any], class_: str, *more: str) -> Markup:
    return row_head((*listing.names(), *more), class_, _styles(listing))


def list_row(listing: Listing[Item], item: Item, class_: str) -> Markup:
    """Build the row of an item; its cells are Markup or foreign text.

    A cell has the class `lw-of-` and the key of its column, if that has one.
    """
    (values,) = listing.rows([item])
    cells = list(map(_written, values))
    return row_cells(listing.names(), cells, class_, _styles(listing))


def _styles(listing: Listing[Any]) -> list[str | None]:
    return [
        " ".join([NUMBER] * each.is_number + [f"lw-of-{each.key}"] * bool(each.key)) or None
        for each in listing.columns
        if each.text is not None
    ]


def list_table(
    listing: Listing[Item],
    items: Iterable[Item],
    name: str,
    drawn: Mapping[str, Callable[[Item], str]] | None = None,
) -> Markup:
    """Build a table of items, `name` as in `table`; `drawn` are columns that pages draw richer."""
    richer = drawn or {}
    texts = {each.name: each.text for each in listing.columns if each.text is not None}
    cells = [richer.get(column) or text for column, text in texts.items()]
    rows = [[_written(cell(item)) for cell in cells] for item in items]
    numbers = {capitalized(each.name) for each in listing.columns if each.is_number}
    return table(list(map(capitalized, texts)), rows, name, numbers)


def _written(cell: Cell) -> str:
    return cell if isinstance(cell, str) else "" if cell is None else f"{cell:,}"


def hash_cell(tx_hash: TxHash) -> Markup:
    """Show the ends of a hash; all of it is in the hint."""
    return element("span", short_hash(tx_hash), class_="lw-mono", title=str(tx_hash))


def lookup_link(tx_hash: TxHash) -> Markup:
    """Link to the look-up of a transaction; its text is the ends of the hash."""
    return element(
        "a",
        short_hash(tx_hash),
        href=f"lookup?tx={tx_hash}",
        target="_self",
        title=str(tx_hash),
        class_="lw-mono",
    )


def data_table(columns: Columns, height: int | Literal["auto"] = "auto") -> None:
    """Show the figures behind a chart, to sort and to copy."""
    import pandas as pd  # noqa: PLC0415 - 25 MB, for those who open such a table

    rows = pd.DataFrame(columns)
    fees = {
        name: st.column_config.NumberColumn(format=_FOUR_DIGITS)
        for name in rows.select_dtypes("number").columns
    }
    times = {"Time (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss")}
    st.dataframe(rows, hide_index=True, height=height, column_config=times | fees)


def time_ago(at: datetime, now: datetime) -> Markup:
    """Say how long ago something was; the moment itself is in the hint."""
    return element("time", age(at, now), title=moment(at))


@contextmanager
def entry(key: str, said: Markup) -> Iterator[None]:
    """Show an entry, and beside it the buttons and links that are drawn meanwhile."""
    with in_line(f"entry-{key}"):
        st.html(said)
        with in_line(f"acts-{key}", width="content"):
            yield


def entry_markup(
    mark: Markup, title: str, *about: str, also: Iterable[Markup] = (), rest: str = ""
) -> Markup:
    """Build an entry: a badge, its title, what is `also` true of it, and the details.

    `rest` is a sentence between both lines. Text that is not Markup is escaped, and so is a title.
    """
    head = element("div", mark, element("b", title, class_="lw-what"), *also, class_="lw-row")
    between = element("p", rest, class_="lw-reason") if rest else Markup()
    facts = (each if isinstance(each, Markup) else element("span", each) for each in about if each)
    return join(head, between, element("div", *facts, class_="lw-row lw-facts-line"))
