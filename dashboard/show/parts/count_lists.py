"""A list of counts, each with a bar, in which a click chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import streamlit as st
from msgspec import Struct

from dashboard.domain.markup import Markup, breakable, element, plain_label, visible

_LONGEST_NAME: Final = 64


class CountRow(Struct, frozen=True):
    """One count: its name, which may be foreign, what a click chooses, and a remark beside it.

    If `value` is empty, it cannot be chosen. `colour` is that of its bar, if it has one of its own.
    """

    name: str
    value: str
    count: int
    note: str = ""
    colour: str = ""


def count_list(
    key: str, rows: Sequence[CountRow], chosen: str | None, choose: Callable[[str], None]
) -> None:
    """Show counts; a click on one, or Enter, calls `choose` with its value, chosen or not."""
    highest = max((each.count for each in rows), default=0) or 1
    with st.container(key=f"counts-{key}", gap=None):
        for number, row in enumerate(rows):
            kind = "count" if row.value else "counted"
            with st.container(key=f"{kind}-{key}-{number}", gap=None):
                is_chosen = row.value == chosen
                st.html(_cells(row, highest, is_chosen=is_chosen))
                if not row.value:
                    continue
                doing = "All, not only" if is_chosen else "Only"
                st.button(
                    f"{doing} {plain_label(row.name, _LONGEST_NAME)}: {row.count:,}",
                    key=f"choose-{key}-{row.value}",
                    on_click=choose,
                    args=(row.value,),
                )


def _cells(row: CountRow, highest: int, *, is_chosen: bool) -> Markup:
    colour = f"; background: {row.colour}" if row.colour else ""
    bar = element("i", style=f"width: {row.count / highest:.1%}{colour}", aria_hidden="true")
    name = breakable(visible(row.name, _LONGEST_NAME))
    return element(
        "div",
        element("span", name, class_="lw-mono" if row.name.startswith("0x") else None),
        element("small", row.note) if row.note else Markup(),
        element("b", f"{row.count:,}"),
        element("div", bar, class_="lw-meter"),
        class_="lw-count is-chosen" if is_chosen else "lw-count",
        aria_hidden="true" if row.value else None,
    )
