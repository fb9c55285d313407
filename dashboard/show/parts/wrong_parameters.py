"""What an address asks of a page in vain: said in words, since Streamlit drops it silently."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.domain.foreign_text import visible
from dashboard.show.parts.states import notice

_LONGEST: Final = 60
_MOST: Final = 5


@contextmanager
def wrong_parameters_told(place: DeltaGenerator, known: frozenset[str]) -> Iterator[None]:
    """Tell in `place` what parameters of the address the page drawn meanwhile could not use.

    A parameter belongs to a widget of the same key, or is `known`. Streamlit takes one whose
    value is no choice of its widget out of the address, as it does with the usual choice.
    """
    asked = st.query_params.to_dict()
    yield
    wrong = [said for name, value in asked.items() if (said := _mistake(name, value, known))]
    if wrong:
        more = f"; and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
        with place:
            said = f"{'; '.join(wrong[:_MOST])}{more}."
            notice("busy", "Part of the address was ignored:", said)


def _mistake(name: str, value: str, known: frozenset[str]) -> str | None:
    if not value:
        return None
    shown = visible(name, _LONGEST)
    if name not in st.session_state:
        return None if name in known else f"{shown} is no parameter of this page"
    if name in st.query_params or str(st.session_state[name]) == value:
        return None
    return f"{visible(value, _LONGEST)} is no choice for {shown} here"
