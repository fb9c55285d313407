"""The search in the header of every page: a hash, sender, label or case id leads to Lookup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

LONGEST: Final = 2_000
"""Characters: some 28 hashes. More are pasted on the page Lookup."""

_FIELD: Final = "search-field"


def header_search(search: Callable[[str], None]) -> None:
    """Show the field; Enter calls `search` with what was typed. The key / leads here."""
    with (
        st.form("search", border=False, clear_on_submit=True),
        st.container(key=_FIELD, horizontal=True, gap=None),
    ):
        text = st.text_input(
            "Search for a hash, a sender, a label or a case id; press / to come here",
            key="search_text",
            max_chars=LONGEST,
            placeholder="Search  ( / )",
            label_visibility="collapsed",
            autocomplete="off",
            icon=":material/search:",
        )
        is_asked = st.form_submit_button("Search", key="search_go")
    if is_asked and text and text.strip():
        search(text.strip())
