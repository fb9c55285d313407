"""The addresses of pages as they were left, for Back.

A link to another page, on a page whose address holds a choice of a widget, makes two entries in
the browser's history: Streamlit 1.67 first writes the new parameters behind the old path, since it
takes the old page's choices out of what the browser sends. Back leads to that entry.
"""

from __future__ import annotations

from typing import Final

import streamlit as st

_LEFT_AT: Final = "addresses_of_pages"


def remember_address(page: str) -> None:
    """Keep the parameters of a page for when somebody comes back to it; call it at its end."""
    kept: dict[str, dict[str, str]] = st.session_state.setdefault(_LEFT_AT, {})
    kept[page] = st.query_params.to_dict()


def restored_address(page: str, foreign: str) -> None:
    """Where the address holds a parameter of another page, return to what this page had.

    Call it before widgets are there: they take their choices from the address.
    """
    kept: dict[str, dict[str, str]] = st.session_state.get(_LEFT_AT, {})
    if foreign in st.query_params and page in kept:
        st.query_params.from_dict(kept[page])
        st.rerun()
