"""The addresses of pages as they were left, for when somebody comes back.

An address holds the choices of one page: on the way to another, Streamlit takes them out. A link to
another page makes two entries in the browser's history, since Streamlit 1.67 first writes the new
parameters behind the old path; Back leads to that entry.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from datetime import timedelta
from functools import wraps
from typing import Final, ParamSpec

import streamlit as st

from dashboard.show.parts.list_page import RANGE
from dashboard.show.parts.network_chooser import NETWORK

P = ParamSpec("P")

_LEFT_AT: Final = "addresses_of_pages"
_SHOWN: Final = "page_shown"
_SHARED: Final = frozenset({NETWORK, RANGE})


def live(every: timedelta) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let a part of a page refresh by itself, and keep the address that it leaves."""

    def decorate(draw: Callable[P, None]) -> Callable[P, None]:
        @st.fragment(run_every=every)
        @wraps(draw)
        def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
            draw(*args, **kwargs)
            kept: dict[str, dict[str, list[str]]] = st.session_state.setdefault(_LEFT_AT, {})
            parameters = st.query_params
            kept[st.session_state.get(_SHOWN, "")] = {
                each: parameters.get_all(each) for each in parameters
            }

        return drawn

    return decorate


def return_to(page: str, foreign: AbstractSet[str], passing: AbstractSet[str]) -> None:
    """Give a page to which somebody comes back the address that it had.

    Back may lead to an address with parameters that are `foreign` to the page. By the menu, choices
    that pages share stay as they were made last, and what is `passing`, such as an open incident,
    is left. A link that names more is followed, and nothing else of the page is chosen. Call it
    before widgets are there.
    """
    before = st.session_state.get(_SHOWN, page)
    st.session_state[_SHOWN] = page
    left = st.session_state.get(_LEFT_AT, {}).get(page)
    asked = st.query_params.keys() - _SHARED
    is_back = bool(asked & foreign)
    if before == page or left is None:
        return
    if asked and not is_back:
        for each in left.keys() - _SHARED:  # Streamlit would keep what the link does not name
            st.session_state.pop(each, None)
        return
    for each in asked:
        del st.query_params[each]
    kept = left.keys() - _SHARED if is_back else left.keys() - _SHARED - passing
    st.query_params.update({each: left[each] for each in kept})
    if is_back:
        for each in _SHARED & left.keys():  # of the widgets of two pages the address is not ours
            st.session_state[each] = left[each][-1]
    st.rerun()
