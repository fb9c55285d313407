"""The parts of a page with a list: filters kept in the address, chips, pages of rows, open rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.domain.markup import plain_label
from dashboard.domain.rejections.search import LONGEST_SEARCH

RANGE: Final = "range"
"""The parameter of the address for the length of time that Overview and Fees show."""

PERIOD: Final = "period"
"""The parameter of the address for the length of time that Rejections shows."""

USUAL_PERIOD: Final = "24 h"

ANY: Final = "Any"
"""The value in the address for every option of a `select_filter`."""


_MEDIA_TYPES: Final = {
    "csv": "text/csv",
    "json": "application/json",
    "toml": "application/toml",
}


def filter_bar() -> DeltaGenerator:
    """Return the strip above a list for its filters."""
    return st.container(key="filters", horizontal=True, vertical_alignment="bottom")


def choice_filter(
    label: str,
    choices: Sequence[str],
    key: str,
    usual: str,
    *,
    wraps: bool | None = None,
) -> str:
    """Offer choices side by side, kept in the parameter `key` of the address; return the choice.

    It is `usual` until another is chosen. As with every filter, the label is for screen readers.
    """
    chosen = st.segmented_control(
        label,
        choices,
        default=usual,
        required=True,
        key=key,
        bind="query-params",
        label_visibility="collapsed",
        wrap=wraps,
    )
    return chosen if chosen in choices else usual


def select_filter(name: str, options: Sequence[str], key: str, width: int) -> str:
    """Offer options to select from, kept in the parameter `key` of the address; return the choice.

    ANY stands for all of them and reads "Any module", so that the field needs no label.
    """
    return st.selectbox(
        name,
        options,
        key=key,
        bind="query-params",
        width=width,
        label_visibility="collapsed",
        format_func=lambda option: f"Any {name.lower()}" if option == ANY else option,
    )


def search_filter(key: str, placeholder: str, label: str = "Search") -> str:
    """Offer a search, kept in the parameter `key` of the address; return what was typed."""
    text = st.text_input(
        label,
        key=key,
        bind="query-params",
        max_chars=LONGEST_SEARCH,
        type="search",
        placeholder=placeholder,
        label_visibility="collapsed",
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


def file_button(
    write: Callable[[], str],
    file_name: str,
    key: str,
    *,
    label: str = "",
    note: str | None = None,
    disabled: bool = False,
) -> None:
    """Offer a file that is written when somebody asks for it.

    Without a `label` it is named by its ending; `note` says what it contains.
    """
    ending = file_name.rpartition(".")[2]
    st.download_button(
        label or ending.upper(),
        write,
        file_name,
        _MEDIA_TYPES[ending],
        key=key,
        icon=":material/download:",
        on_click="ignore",
        disabled=disabled,
        help=note,
    )


_LONGEST_VALUE: Final = 48


class Chip(NamedTuple):
    """An active filter: its subject, its value, which may be foreign, and how it is removed."""

    name: str
    value: str
    remove: Callable[[], None]


def filter_chips(chips: Sequence[Chip]) -> None:
    """Show the active filters; nothing if there are none."""
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


OPEN: Final = "open"
"""The parameter of the address with the open row, such as `?open=59144`."""


def opened() -> str:
    """Return the subject of the open row in the address; empty for none."""
    return str(st.query_params.get(OPEN, ""))


def open_button(subject: str, label: str, *, is_open: bool) -> None:
    """Cover the row of a subject: a click on it, or Enter, opens or closes it.

    `label` is Markdown and says what is opened.
    """
    st.button(
        f"{'Close' if is_open else 'Open'} {label}",
        key=f"open-{subject}",
        on_click=_toggle,
        args=(subject,),
    )


def _toggle(subject: str) -> None:
    if opened() == subject:
        del st.query_params[OPEN]
    else:
        st.query_params[OPEN] = subject
