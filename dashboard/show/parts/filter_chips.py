"""What a list is narrowed to, one chip each; a click on a chip takes that filter away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import streamlit as st

from dashboard.show.parts.markup import plain_label

_LONGEST_VALUE: Final = 48


class Chip(NamedTuple):
    """One filter that is on: what it is about, its value, which may be foreign, and how it ends."""

    name: str
    value: str
    remove: Callable[[], None]


def filter_chips(chips: Sequence[Chip]) -> None:
    """Show the filters that are on; where there are none, nothing."""
    if not chips:
        return
    with st.container(key="chips", horizontal=True, vertical_alignment="center", gap="xsmall"):
        for chip in chips:
            st.button(
                f"{chip.name}: **{plain_label(chip.value, _LONGEST_VALUE)}**",
                key=f"chip-{chip.name}",
                icon=":material/close:",
                icon_position="right",
                help=f"Remove the filter {chip.name.lower()}",
                on_click=chip.remove,
            )
        if len(chips) > 1:
            st.button("Clear all", key="chip-all", type="tertiary", on_click=_remove, args=(chips,))


def _remove(chips: Sequence[Chip]) -> None:
    for chip in chips:
        chip.remove()
