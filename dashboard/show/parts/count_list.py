"""Counts from the largest down, each a bar that filters the page when it is clicked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from dashboard.domain.foreign_text import visible
from dashboard.show.parts.markup import Markup, breakable, element, plain_label

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
