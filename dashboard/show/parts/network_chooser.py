"""The network chooser of the frame: which networks a page is about, kept in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard.domain.quantity import NetworkId
from dashboard.show.queries.network_status import NetworkProfile

NETWORK: Final = "network"
"""The parameter of the address that names a network, by its name or its id: `?network=59144`."""

ALL: Final = "All networks"
_FEWEST: Final = 2
_WANTED: Final = "network_wanted"


def network_chooser(profiles: Sequence[NetworkProfile]) -> None:
    """Offer every network; where there is only one, there is nothing to choose."""
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
    """Return how the chooser names the network that was chosen among several, None for all."""
    chosen = st.session_state.get(NETWORK)
    return chosen if chosen in _names(profiles) and len(profiles) >= _FEWEST else None


def choose_network(profile: NetworkProfile | None) -> None:
    """Choose a network, None for all, in a callback of what calls `follow_choice`."""
    st.session_state[_WANTED] = None if profile is None else profile.network_id


def follow_choice() -> None:
    """Draw the whole page where a network was chosen: the chooser is outside of a fragment.

    Call it first in a fragment with buttons that choose one.
    """
    if _WANTED in st.session_state:
        st.rerun()


def chosen_network_id(profiles: Sequence[NetworkProfile]) -> NetworkId | None:
    """Return the network that was chosen among several; None for all, configured or not."""
    chosen = chosen_networks(profiles)
    return chosen[0].network_id if len(chosen) < len(profiles) else None


def _names(profiles: Sequence[NetworkProfile]) -> dict[str, NetworkProfile]:
    """Name each network; where two have the same name, the id distinguishes them."""
    counts = Counter(profile.name for profile in profiles)
    return {
        profile.name
        if counts[profile.name] == 1
        else f"{profile.name} ({profile.network_id})": profile
        for profile in profiles
    }


def _take_address(names: dict[str, NetworkProfile]) -> None:
    """Follow a link: what the address names is chosen, and what it names by id gets its name."""
    written = st.query_params.get(NETWORK)
    if written in names and st.session_state.get(NETWORK, written) != written:
        st.session_state[NETWORK] = written
    for name, profile in names.items():
        if written == str(profile.network_id) and written not in names:
            st.query_params[NETWORK] = name
            st.rerun()
