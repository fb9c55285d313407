"""The network chooser of the frame: which networks a page is about, kept in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard.domain.quantity import NetworkId
from dashboard.show.queries.network_status import NetworkCard

NETWORK: Final = "network"
"""The parameter of the address that names a network, by its name or its id: `?network=59144`."""

ALL: Final = "All networks"
_FEWEST: Final = 2


def network_chooser(cards: Sequence[NetworkCard]) -> None:
    """Offer every network; where there is only one, there is nothing to choose."""
    if len(cards) < _FEWEST:
        return
    names = _names(cards)
    _take_address(names)
    st.selectbox(
        "Network",
        [ALL, *names],
        key=NETWORK,
        bind="query-params",
        label_visibility="collapsed",
        width=220,
    )


def chosen_networks(cards: Sequence[NetworkCard]) -> tuple[NetworkCard, ...]:
    """Return the networks that the page is about: the chosen one, or all."""
    chosen = _names(cards).get(str(st.session_state.get(NETWORK)))
    return tuple(cards) if chosen is None else (chosen,)


def chosen_network_id(cards: Sequence[NetworkCard]) -> NetworkId | None:
    """Return the network that was chosen among several; None for all, configured or not."""
    chosen = chosen_networks(cards)
    return chosen[0].network_id if len(chosen) < len(cards) else None


def _names(cards: Sequence[NetworkCard]) -> dict[str, NetworkCard]:
    """Name each network; where two have the same name, the id tells them apart."""
    counts = Counter(card.name for card in cards)
    return {
        card.name if counts[card.name] == 1 else f"{card.name} ({card.network_id})": card
        for card in cards
    }


def _take_address(names: dict[str, NetworkCard]) -> None:
    """Follow a link: what the address names is chosen, and what it names by id gets its name."""
    written = st.query_params.get(NETWORK)
    if written in names and st.session_state.get(NETWORK, written) != written:
        st.session_state[NETWORK] = written
    for name, card in names.items():
        if written == str(card.network_id) and written not in names:
            st.query_params[NETWORK] = name
            st.rerun()
