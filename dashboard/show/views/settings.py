"""Settings answers: what is configured and who may do what, who did what, and how to change it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.domain.people.access import READS_ACCESS
from dashboard.show.parts.acting import admits, done_shown, name_input
from dashboard.show.parts.audit_list import audit_headline, audit_part
from dashboard.show.parts.chosen_settings import chosen_settings_part
from dashboard.show.parts.configuration import (
    all_settings_part,
    check_part,
    configuration_part,
    headline,
)
from dashboard.show.parts.frame import heading, live
from dashboard.show.parts.list_page import choice_filter
from dashboard.show.parts.notices import store_errors_shown
from dashboard.show.parts.people_list import people_headline, people_part

REFRESH: Final = timedelta(seconds=15)
SECTION: Final = "section"
"""The parameter of the address that names the section."""

CONFIGURATION: Final = "Configuration"
PEOPLE: Final = "People and sessions"
AUDIT_LOG: Final = "Audit log"


def page() -> None:
    """Show the chosen section; who may read one alone is not asked to choose."""
    queries = application.current()
    if not admits(queries, READS_ACCESS)():
        heading("Settings", headline(queries))
        _what_is_set()
        _all_settings()
        return
    head = st.container(key="settings-head")
    with st.container(key="settings-bar", horizontal=True, vertical_alignment="center"):
        chosen = choice_filter("Section", list(_SECTIONS), SECTION, CONFIGURATION, wraps=True)
        if chosen != AUDIT_LOG:
            name_input(queries)
    answer, draw = _SECTIONS[chosen]
    with store_errors_shown("Settings", head):
        with head:
            heading("Settings", answer(queries))
        done_shown(queries)
        draw()


def _configuration() -> None:
    _chosen()
    _what_is_set()
    check_part(application.current())
    _all_settings()


@st.fragment
def _chosen() -> None:
    _for_admins(chosen_settings_part)


@live(REFRESH)
def _what_is_set() -> None:
    """Show what is set here: what becomes of the files is noticed without a reload."""
    configuration_part(application.current())


@st.fragment
def _all_settings() -> None:
    all_settings_part(application.current())


@st.fragment
def _people() -> None:
    _for_admins(people_part)


@st.fragment
def _audit_log() -> None:
    _for_admins(audit_part)


def _for_admins(part: Callable[[Application], None]) -> None:
    """Draw a part for who may read it now: a role may have changed since the page was opened."""
    queries = application.current()
    if not admits(queries, READS_ACCESS)():
        st.rerun()
    with store_errors_shown():
        part(queries)


_SECTIONS: Final[dict[str, tuple[Callable[[Application], str], Callable[[], None]]]] = {
    CONFIGURATION: (headline, _configuration),
    PEOPLE: (people_headline, _people),
    AUDIT_LOG: (audit_headline, _audit_log),
}
