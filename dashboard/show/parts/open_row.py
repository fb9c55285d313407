"""Rows of which a click opens one in place: which is open, and the button that covers each."""

from __future__ import annotations

from typing import Final

import streamlit as st

OPEN: Final = "open"
"""The parameter of the address that names the open row, such as `?open=59144`."""


def opened() -> str:
    """Return what the open row is about, as the address has it; empty for none."""
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
