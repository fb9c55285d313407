"""Counts drawn without a script: tiles, bars over time, and lists from the largest down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from dashboard.domain.markup import Markup, breakable, element, join, plain_label, visible
from dashboard.show.parts.table import table

_STYLES: Final = ("a", "b", "c")
"""The colours of the kinds that a bar stacks, from the bottom."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what its time is called, and how many of each kind it stacks."""

    name: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many it stands for."""
        return sum(self.counts.values())

    def words(self) -> str:
        """Say what the bar shows."""
        parts = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items() if count)
        return f"{self.name}: {parts or 'none'}"


def bars(drawn: Sequence[Bar], kinds: Sequence[str], words: str) -> Markup:
    """Draw bars from left to right, each stacking its kinds; the same numbers follow as a table.

    `words` say what is seen to someone who cannot see it.
    """
    highest = max([each.total for each in drawn], default=0)
    plot = element("div", *(_bar(each, kinds, highest or 1) for each in drawn), class_="lw-plot")
    top = element("span", f"{highest:,}", class_="lw-top", aria_hidden="true")
    names = [drawn[0].name, drawn[len(drawn) // 2].name, drawn[-1].name] if drawn else []
    axis = element("div", *(element("span", name) for name in names), class_="lw-axis")
    figure = element("div", top, plot, axis, class_="lw-bars", role="img", aria_label=words)
    return join(figure, _legend(drawn, kinds), _as_table(drawn, kinds))


def _bar(bar: Bar, kinds: Sequence[str], highest: int) -> Markup:
    pieces = (
        element("i", class_=mark, style=f"height: {bar.counts.get(kind, 0) / highest:.2%}")
        for kind, mark in zip(kinds, _STYLES, strict=False)
        if bar.counts.get(kind)
    )
    return element("div", *pieces, title=bar.words())


def _legend(drawn: Sequence[Bar], kinds: Sequence[str]) -> Markup:
    entries = []
    for kind, mark in zip(kinds, _STYLES, strict=False):
        count = sum(bar.counts.get(kind, 0) for bar in drawn)
        sign = element("i", class_=mark, aria_hidden="true")
        entries.append(element("span", sign, f"{kind} ", element("b", f"{count:,}")))
    return element("p", *entries, class_="lw-legend")


def _as_table(drawn: Sequence[Bar], kinds: Sequence[str]) -> Markup:
    rows = [
        (bar.name, *(f"{bar.counts.get(kind, 0):,}" for kind in kinds))
        for bar in reversed(drawn)
        if bar.total
    ]
    summary = element("summary", "The same as a table")
    if not rows:
        return Markup()
    numbers = table(("Time (UTC)", *kinds), rows, "Counts over time")
    return element("details", summary, numbers, class_="lw-more")


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
