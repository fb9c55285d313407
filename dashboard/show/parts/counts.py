"""Counts drawn without a script: tiles, bars over time, and lists from the largest down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from dashboard.domain.markup import Markup, breakable, element, join, plain_label, visible
from dashboard.show.parts.table import table


def bars(counted: Sequence[tuple[str, int]], of: str, words: str) -> Markup:
    """Draw counts from left to right, each by the name of its time; a table says the same.

    `of` is what is counted; `words` say what is seen to someone who cannot see it.
    """
    highest = max((count for _, count in counted), default=0)
    plot = element("div", *(_bar(*each, of, highest or 1) for each in counted), class_="lw-plot")
    top = element("span", f"{highest:,}", class_="lw-top", aria_hidden="true")
    names = [counted[place][0] for place in (0, len(counted) // 2, -1)] if counted else []
    axis = element("div", *(element("span", name) for name in names), class_="lw-axis")
    figure = element("div", top, plot, axis, class_="lw-bars", role="img", aria_label=words)
    sign = element("i", class_="a", aria_hidden="true")
    total = element("b", f"{sum(count for _, count in counted):,}")
    legend = element("p", element("span", sign, f"{of} ", total), class_="lw-legend")
    return join(figure, legend, _as_table(counted, of))


def _bar(name: str, count: int, of: str, highest: int) -> Markup:
    drawn = element("i", class_="a", style=f"height: {count / highest:.2%}") if count else Markup()
    return element("div", drawn, title=f"{name}: {f'{count:,} {of}' if count else 'none'}")


def _as_table(counted: Sequence[tuple[str, int]], of: str) -> Markup:
    rows = [(name, f"{count:,}") for name, count in reversed(counted) if count]
    if not rows:
        return Markup()
    numbers = table(("Time (UTC)", of), rows, "Counts over time")
    return element("details", element("summary", "The same as a table"), numbers, class_="lw-more")


@dataclass(frozen=True, slots=True)
class Tile:
    """One count; `is_wrong` where it needs a look."""

    name: str
    number: int
    note: str
    is_wrong: bool = False


def tiles(*shown: Tile) -> None:
    """Show figures in one strip."""
    st.html(element("dl", *map(_tile, shown), class_="lw-figures lw-tiles"))


def _tile(tile: Tile) -> Markup:
    return element(
        "div",
        element("dt", tile.name),
        element("dd", f"{tile.number:,}"),
        element("dd", tile.note, class_="lw-note"),
        class_="is-wrong" if tile.is_wrong else None,
    )


_LONGEST_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class CountRow:
    """One count: its name, which may be foreign, what a click chooses, and a remark beside it."""

    name: str
    value: str
    count: int
    note: str = ""


def count_list(
    key: str, rows: Sequence[CountRow], chosen: str | None, choose: Callable[[str], None]
) -> None:
    """Show counts; a click on one, or Enter, calls `choose` with its value, chosen or not."""
    highest = max((each.count for each in rows), default=0) or 1
    with st.container(key=f"counts-{key}", gap=None):
        for number, row in enumerate(rows):
            with st.container(key=f"count-{key}-{number}", gap=None):
                is_chosen = row.value == chosen
                st.html(_cells(row, highest, is_chosen=is_chosen))
                doing = "All, not only" if is_chosen else "Only"
                st.button(
                    f"{doing} {plain_label(row.name, _LONGEST_NAME)}: {row.count:,}",
                    key=f"choose-{key}-{row.value}",
                    on_click=choose,
                    args=(row.value,),
                )


def _cells(row: CountRow, highest: int, *, is_chosen: bool) -> Markup:
    bar = element("i", style=f"width: {row.count / highest:.1%}", aria_hidden="true")
    name = breakable(visible(row.name, _LONGEST_NAME))
    return element(
        "div",
        element("span", name, class_="lw-mono" if row.name.startswith("0x") else None),
        element("small", row.note) if row.note else Markup(),
        element("b", f"{row.count:,}"),
        element("div", bar, class_="lw-meter"),
        class_="lw-count is-chosen" if is_chosen else "lw-count",
        aria_hidden="true",
    )
