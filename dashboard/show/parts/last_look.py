"""What changed since a person last looked, kept in the session and in the address."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.text import moment_near
from dashboard.domain.markup import element

SEEN: Final = "seen"
"""The parameter of the address that says when one last looked, in seconds since 1970."""

_LONGEST: Final = timedelta(days=7)
_SECONDS: Final = re.compile(r"\d{1,11}", re.ASCII)
_LAST_LOOK: Final = "last_look"


def last_look(queries: Application, now: datetime) -> None:
    """Count what is new since then, with a button that says it was seen."""
    since = _since(now)
    changes = queries.overview.changes_since(since)
    if not changes.is_any:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="last-look"):
        said = f"Since {moment_near(since, now)}, when you last looked: {changes.in_words()}."
        st.html(element("p", said, class_="lw-quiet"))
        st.button("Seen", key="seen-now", on_click=_keep, args=(now,), type="tertiary")


def _since(now: datetime) -> datetime:
    """Return when one last looked: as the session or the address says, else now."""
    kept = st.session_state.get(_LAST_LOOK)
    if not isinstance(kept, datetime):
        written = st.query_params.get(SEEN, "")
        is_number = _SECONDS.fullmatch(written)
        kept = datetime.fromtimestamp(int(written), UTC) if is_number else now
        st.session_state[_LAST_LOOK] = kept = min(kept, now)
    return max(kept, now - _LONGEST)


def _keep(now: datetime) -> None:
    st.session_state[_LAST_LOOK] = now
    st.query_params[SEEN] = str(int(now.timestamp()))
