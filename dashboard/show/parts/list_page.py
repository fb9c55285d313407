"""Lists with filters: what is chosen is kept in the address, and one page of rows is shown."""

from __future__ import annotations

import streamlit as st


def chosen_page(total: int, rows: int, key: str) -> int:
    """Offer the leaves of a list of `total` rows; return the chosen one, counted from 1.

    A leaf beyond the last, after a filter made the list shorter, becomes the last.
    """
    leaves = -(-total // rows)
    if leaves <= 1:
        return 1
    if int(st.session_state.get(key) or 1) > leaves:
        st.session_state[key] = leaves
    return st.pagination(leaves, key=key, bind="query-params")
