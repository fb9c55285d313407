"""The parts of a page with a list: filters kept in the address, pages of rows, a CSV file.

Streamlit keeps a choice by its key when the visitor goes to another page. So two pages share a
key, which is also the parameter of the address, only where they share the choice (`range`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.domain.search import LONGEST_SEARCH


def filter_bar() -> DeltaGenerator:
    """Return the strip above a list that its filters stand in."""
    return st.container(key="filters", horizontal=True, vertical_alignment="bottom")


def choice_filter(
    label: str,
    choices: Sequence[str],
    key: str,
    usual: str,
    *,
    is_labelled: bool = True,
    wraps: bool | None = None,
) -> str:
    """Offer choices side by side, kept in the parameter `key` of the address; return the choice.

    It is `usual` until another is chosen.
    """
    chosen = st.segmented_control(
        label,
        choices,
        default=usual,
        required=True,
        key=key,
        bind="query-params",
        label_visibility="visible" if is_labelled else "collapsed",
        wrap=wraps,
    )
    return chosen if chosen in choices else usual


def search_filter(key: str, placeholder: str, *, is_labelled: bool = True) -> str:
    """Offer a search, kept in the parameter `key` of the address; return what was typed."""
    text = st.text_input(
        "Search",
        key=key,
        bind="query-params",
        max_chars=LONGEST_SEARCH,
        type="search",
        placeholder=placeholder,
        label_visibility="visible" if is_labelled else "collapsed",
    )
    return (text or "").strip()


def page_of_rows(total: int, rows: int, key: str, draw: Callable[[int], None]) -> None:
    """Draw one page of a list of `total` rows, and below it the pages to choose from.

    `draw` gets the number of the page, counted from 1, of `rows` rows each.
    """
    above = st.container(gap=None)
    number = chosen_page(total, rows, key)
    with above:
        draw(number)


def chosen_page(total: int, rows: int, key: str) -> int:
    """Offer the pages of a list; return the chosen one, counted from 1.

    A page beyond the last, after a filter made the list shorter, becomes the last.
    """
    pages = -(-total // rows)
    if pages <= 1:
        return 1
    if int(st.session_state.get(key) or 1) > pages:
        st.session_state[key] = pages
    return st.pagination(pages, key=key, bind="query-params")


def csv_button(
    write: Callable[[], str],
    file_name: str,
    key: str,
    *,
    label: str = "CSV",
    note: str | None = None,
    disabled: bool = False,
) -> None:
    """Offer a file that is written when somebody asks for it; `note` says what it holds."""
    st.download_button(
        label,
        write,
        file_name,
        "text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
        disabled=disabled,
        help=note,
    )


def json_button(write: Callable[[], str], file_name: str, key: str, note: str) -> None:
    """Offer a JSON file that is written when somebody asks for it; `note` says what it holds."""
    st.download_button(
        "JSON",
        write,
        file_name,
        "application/json",
        key=key,
        icon=":material/download:",
        on_click="ignore",
        help=note,
    )
