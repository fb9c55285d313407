"""The frame of every page: heading, search, networks, links, and the address to return to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Final, Literal, ParamSpec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.application.network_status import NetworkProfile
from dashboard.application.text import PAGES
from dashboard.domain.formatting import moment
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.quantity import NetworkId
from dashboard.show.parts.list_page import RANGE
from dashboard.wire.decoding import format_timestamp


def view_at(path: str) -> ModuleType:
    """Import what draws a page, by its name: pages link to each other in circles."""
    return import_module(f"dashboard.show.views.{path or 'overview'}")


def page_at(path: str) -> st.Page:
    """Return a page.

    It has no icon: Streamlit would make the browser fetch that from a font host, as favicon.
    """
    return st.Page(view_at(path).page, title=PAGES[path], url_path=path, default=not path)


OPEN: Final = "Open"
"""The text of a link that only leads elsewhere."""


def link(path: str, label: str, parameters: Mapping[str, str] | None = None) -> None:
    """Link to a page, with these parameters in its address."""
    st.page_link(page_at(path), label=label, icon="", query_params=dict(parameters or {}))


HEADED: Final = "page_headed"
"""The key under which a session knows whether the heading of its page is drawn."""


def heading(title: str, answer: str, updated_at: datetime | None = None) -> None:
    """Show the page's only first-level heading with its answer, and the time of that answer.

    `keys.js` counts its age until the next refresh.
    """
    st.session_state[HEADED] = True
    updated = Markup()
    if updated_at is not None:
        at = format_timestamp(updated_at)
        exact = moment(updated_at)
        updated = element("time", "updated now", datetime=at, title=exact, class_="lw-updated")
    st.html(
        element("header", element("h1", title), element("p", answer), updated, class_="lw-head")
    )


def section(title: str, note: str = "") -> None:
    """Show a second-level heading, with what a reader must know of the section below it."""
    below = element("p", note, class_="lw-quiet") if note else Markup()
    st.html(join(element("h2", title, class_="lw-section"), below))


def quiet(*words: str) -> None:
    """Show a sentence that stands back behind the rest; text that is not Markup is escaped."""
    st.html(element("p", *words, class_="lw-quiet"))


@contextmanager
def card(key: str, title: str, note: str = "") -> Iterator[None]:
    """Show a section in a box of its own, with what is drawn meanwhile."""
    with st.container(key=f"card-{key}", gap="small"):
        section(title, note)
        yield


def in_line(key: str, width: Literal["stretch", "content"] = "stretch") -> DeltaGenerator:
    """Return a container whose elements are side by side."""
    return st.container(
        key=key, horizontal=True, vertical_alignment="center", gap="small", width=width
    )


LONGEST: Final = 2_000
"""Characters: some 28 hashes. More are pasted on the page Lookup."""

_FIELD: Final = "search-field"


def expander(
    label: str, key: str, *, icon: str | None = None, is_open: bool = False
) -> DeltaGenerator:
    """Fold away what is drawn in it, at first open or not; its state is kept under `key`.

    Streamlit takes an expander with another label for another one: without this, a label with a
    count would close it under the hand of its reader.
    """
    st.session_state[key] = st.session_state.get(key, is_open)
    return st.expander(label, key=key, icon=icon, on_change="rerun")


def popover(
    label: str,
    key: str,
    draw: Callable[[], None],
    kind: Literal["primary", "secondary"] = "secondary",
) -> None:
    """Offer a popover; what is in it is drawn only while it is open."""
    shown = st.popover(label, key=key, type=kind, on_change="rerun")
    if shown.open:
        with shown:
            draw()


def header_search(search: Callable[[str], None]) -> None:
    """Show the field; Enter calls `search` with what was typed. The key / focuses it."""
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


NETWORK: Final = "network"
"""The parameter of the address that names a network, by its name or its id: `?network=59144`."""

ALL: Final = "All networks"
_FEWEST: Final = 2
_WANTED: Final = "network_wanted"


def network_chooser(profiles: Sequence[NetworkProfile]) -> None:
    """Offer every network; if there is only one, there is nothing to choose."""
    was_chosen = _WANTED in st.session_state
    wanted = st.session_state.pop(_WANTED, None)
    if len(profiles) < _FEWEST:
        return
    names = _names(profiles)
    if was_chosen:
        by_id = {each.network_id: name for name, each in names.items()}
        st.session_state[NETWORK] = by_id.get(wanted, ALL)
    else:
        _take_address(names)
    st.selectbox(
        "Network",
        [ALL, *names],
        key=NETWORK,
        bind="query-params",
        label_visibility="collapsed",
        width=220,
    )


def chosen_networks(profiles: Sequence[NetworkProfile]) -> tuple[NetworkProfile, ...]:
    """Return the networks that the page is about: the chosen one, or all."""
    chosen = _names(profiles).get(str(st.session_state.get(NETWORK)))
    return tuple(profiles) if chosen is None else (chosen,)


def chosen_network_name(profiles: Sequence[NetworkProfile]) -> str | None:
    """Return the chooser's name of the chosen network, None for all."""
    chosen = st.session_state.get(NETWORK)
    return chosen if chosen in _names(profiles) and len(profiles) >= _FEWEST else None


def choose_network(profile: NetworkProfile | None) -> None:
    """Choose a network, None for all, in a callback of a part that calls `follow_choice`."""
    st.session_state[_WANTED] = None if profile is None else profile.network_id


def follow_choice() -> None:
    """Redraw the whole page if a network was chosen: the chooser is outside of a fragment.

    Call it first in a fragment with buttons that choose one.
    """
    if _WANTED in st.session_state:
        st.rerun()


def chosen_network_id(profiles: Sequence[NetworkProfile]) -> NetworkId | None:
    """Return the network that was chosen among several; None for all, configured or not."""
    chosen = chosen_networks(profiles)
    return chosen[0].network_id if len(chosen) < len(profiles) else None


def _names(profiles: Sequence[NetworkProfile]) -> dict[str, NetworkProfile]:
    """Name each network; if two have the same name, the id distinguishes them."""
    counts = Counter(profile.name for profile in profiles)
    return {
        profile.name
        if counts[profile.name] == 1
        else f"{profile.name} ({profile.network_id})": profile
        for profile in profiles
    }


def _take_address(names: dict[str, NetworkProfile]) -> None:
    """Follow a link: choose what the address names, and replace an id by its name."""
    written = st.query_params.get(NETWORK)
    if written in names and st.session_state.get(NETWORK, written) != written:
        st.session_state[NETWORK] = written
    for name, profile in names.items():
        if written == str(profile.network_id) and written not in names:
            st.query_params[NETWORK] = name
            st.rerun()


P = ParamSpec("P")

_LEFT_AT: Final = "addresses_of_pages"
_SHOWN: Final = "page_shown"
_SHARED: Final = frozenset({NETWORK, RANGE})


def live(every: timedelta) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let a part of a page refresh by itself, and keep the page's address."""

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
    """Restore the address of a page for somebody who comes back to it.

    Back may lead to an address with parameters that are `foreign` to the page. By the menu, choices
    that pages share stay as they were last made, and what is `passing`, such as an open incident,
    is dropped. A link that names more is followed, and nothing else of the page is chosen. Call it
    before the widgets are drawn.
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
    dropped = _SHARED if is_back else _SHARED | passing
    st.query_params.update({each: left[each] for each in left if each not in dropped})
    if is_back:
        for each in _SHARED & left.keys():  # of the widgets of two pages the address is not ours
            st.session_state[each] = left[each][-1]
    st.rerun()
