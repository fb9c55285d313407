"""Who acts on a page, and what happens when they do: done, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from dashboard.domain.audit import LONGEST_NAME, Actor, parse_name
from dashboard.domain.foreign_text import visible
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.notices import notice
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import sentence

WHO: Final = "who_acts"
"""The key under which a session keeps the name of the person who acts."""


def name_input() -> None:
    """Ask once on a page who acts; the session remembers it."""
    st.text_input(
        "Your name",
        key=WHO,
        max_chars=LONGEST_NAME,
        placeholder="For what you change here",
        help="Shown with what you change on this page, and kept in the audit log.",
        width=320,
    )


def act(change: Callable[[Actor], object], queries: PageQueries, failed: str) -> None:
    """Do what a person asked for, and draw the page anew; say why where it cannot be done.

    `failed` is the headline of that, such as "Nothing was saved.".
    """
    try:
        change(Actor(parse_name(str(st.session_state.get(WHO) or "")), queries.now()))
    except InputError as mistake:
        notice("bad", failed, sentence(visible(_capitalized(str(mistake)))))
    except StoreError as trouble:
        notice("bad", failed, f"{trouble} Try again in a moment.")
    else:
        st.rerun()


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
