"""The head of a page: its name and the one sentence that answers its question."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard.show.parts.markup import Markup, element, join

HEADED: Final = "page_headed"
"""The key under which a session knows whether the heading of its page is drawn."""


def heading(title: str, answer: str) -> None:
    """Show the page's only first-level heading with its answer beside it."""
    st.session_state[HEADED] = True
    st.html(element("header", element("h1", title), element("p", answer), class_="lw-head"))


def section(title: str, note: str = "") -> None:
    """Show a second-level heading, with what a reader must know of the section below it."""
    below = element("p", note, class_="lw-quiet") if note else Markup()
    st.html(join(element("h2", title, class_="lw-section"), below))
