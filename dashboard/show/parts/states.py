"""States of a page that are not its content: empty, stale, in trouble, simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from dashboard.errors import StoreError
from dashboard.show.parts.markup import element, join
from dashboard.show.queries.network_status import NetworkCard
from dashboard.show.text import sentence


def empty(headline: str, what_to_do: str) -> None:
    """Say that there is nothing yet, and what brings something."""
    st.html(
        element("div", element("strong", headline), element("span", what_to_do), class_="lw-empty")
    )


def no_network() -> None:
    """Say that nothing is watched, and how that changes."""
    empty(
        "No network is configured",
        "Add one under [networks] in linewatch.toml, or start with no configuration at all "
        "to try the simulated devnet.",
    )


def notice(kind: str, headline: str, text: str) -> None:
    """Show one sentence in a box; `kind` is bad, busy, calm, simulated or empty."""
    role = "alert" if kind == "bad" else None
    strong = element("strong", headline)
    st.html(element("p", join(strong, " ", text), class_=f"lw-notice {kind}", role=role))


@contextmanager
def store_trouble_shown() -> Iterator[None]:
    """Turn trouble with the store into a notice where the content would be."""
    try:
        yield
    except StoreError as trouble:
        notice(
            "bad",
            "The store cannot be read.",
            f"{sentence(str(trouble))} This page tries again by itself; "
            "if it lasts, look at the log of the worker and at the disk.",
        )


def simulated_mark(cards: Sequence[NetworkCard]) -> None:
    """Say on every page which networks are simulated."""
    *others, last = [card.name for card in cards if card.is_simulated] or [""]
    if last:
        names = f"{', '.join(others)} and {last} are chains" if others else f"{last} is a chain"
        notice(
            "simulated",
            "Simulated data.",
            f"{names} that Linewatch makes up on this machine, to try it without an account. "
            "No real network is involved.",
        )
