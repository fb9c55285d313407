"""Figures side by side: a name, a number, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dashboard.show.parts.markup import Markup, element


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure; `is_wrong` where it needs a look."""

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
