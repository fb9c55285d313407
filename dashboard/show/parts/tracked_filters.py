"""The filters of the list of tracked transactions: kept in the address, saved by name for all."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.domain.markup import plain_label, visible
from dashboard.domain.people.access import Action
from dashboard.domain.tracking.remarks import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_OWNER,
    LONGEST_TAG,
)
from dashboard.domain.tracking.verdict import Need
from dashboard.show.parts.acting import Done, act, may
from dashboard.show.parts.frame import ALL as ALL_NETWORKS
from dashboard.show.parts.frame import NETWORK, choose_network, chosen_network_id
from dashboard.show.parts.list_page import (
    Chip,
    choice_filter,
    filter_bar,
    filter_chips,
    search_filter,
)
from dashboard.store.tracking.groups import GroupedBy
from dashboard.store.tracking.saved import LONGEST_FILTER_NAME, SavedFilter

RECORD: Final = "record"
SEARCH: Final = "tracked_search"
NEED: Final = "need"
GROUP: Final = "group"
BEFORE: Final = "before"
"""The parameter of the address with the transaction before which the list begins."""

ALL: Final = "All"
NOT_GROUPED: Final = "Not grouped"
RECORDS: Final = (ALL, "Rejected", "No record", "No answer")
_ID: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_LAST: Final = "tracked_filters_before"
_LONGEST_SHOWN: Final = 60

FIELDS: Final = {
    GroupedBy.LABEL: ("label", LONGEST_LABEL),
    GroupedBy.CASE_ID: ("case_id", LONGEST_CASE_ID),
    GroupedBy.OWNER: ("owner", LONGEST_OWNER),
    GroupedBy.TAG: ("tag", LONGEST_TAG),
}
"""The parameter of the address for each property that transactions may have in common."""

_KEPT: Final = (RECORD, SEARCH, NEED, *(key for key, _ in FIELDS.values()))
"""The parameters of a filter; they are saved under a name, with the network."""

_NEWER: Final = "tracked_newer"
"""From which page of the list each older one was opened in this session."""


def tracked_filters(queries: Application) -> None:
    """Show the filters that people set, the saved ones, and a chip for each active one."""
    with filter_bar():
        choice_filter("On record", list(RECORDS), RECORD, ALL)
        search_filter(SEARCH, "Search label, case id, hash, sender")
        with st.popover("More filters", icon=":material/tune:"):
            _fields()
        st.selectbox(
            "Group by",
            [NOT_GROUPED, *GroupedBy],
            key=GROUP,
            bind="query-params",
            label_visibility="collapsed",
            width=150,
        )
    filter_chips(_chips())
    _saved(queries)


def filter_is_on() -> bool:
    return bool(_chips())


def value_of(key: str) -> str:
    """Return the value of a filter; empty if it is not set."""
    return str(st.session_state.get(key) or "").strip()


def chosen_need() -> Need | None:
    """Return the kind of need to which the list is narrowed."""
    named = st.query_params.get(NEED, "")
    return Need(named) if named in set(Need) else None


def show_need(need: Need) -> None:
    """Narrow the list to what needs attention for this reason."""
    back_to_latest()
    st.query_params[NEED] = need.value


def show_group(by: GroupedBy, name: str) -> None:
    """Narrow the list to a group."""
    back_to_latest()
    st.session_state[FIELDS[by][0]] = name
    st.session_state[GROUP] = NOT_GROUPED


def back_to_latest() -> None:
    """Show the list from the latest again."""
    st.query_params.pop(BEFORE, None)
    st.session_state.pop(_NEWER, None)


def show_older(tracked_id: int) -> None:
    """Show the list from before a transaction."""
    opened: dict[str, str] = st.session_state.setdefault(_NEWER, {})
    opened[str(tracked_id)] = st.query_params.get(BEFORE, "")
    st.query_params[BEFORE] = str(tracked_id)


def has_newer() -> bool:
    return st.query_params.get(BEFORE, "") in st.session_state.get(_NEWER, {})


def show_newer() -> None:
    newer = st.session_state[_NEWER][st.query_params[BEFORE]]
    if newer:
        st.query_params[BEFORE] = newer
    else:
        back_to_latest()


def beginning() -> int | None:
    """Return before which transaction the list begins; with other filters it starts over."""
    said = _parameters()
    if st.session_state.get(_LAST, said) != said:
        back_to_latest()
    st.session_state[_LAST] = said
    before = st.query_params.get(BEFORE, "")
    return int(before) if _ID.fullmatch(before) else None


def _fields() -> None:
    for by, (key, longest) in FIELDS.items():
        st.text_input(f"{by}, as a whole", key=key, bind="query-params", max_chars=longest)


def _chips() -> list[Chip]:
    chips = []
    if need := chosen_need():
        chips.append(Chip("Needs attention", need.value, partial(_clear, NEED)))
    record = value_of(RECORD)
    if record and record != ALL:
        chips.append(Chip("On record", record, partial(_clear, RECORD)))
    if value_of(SEARCH):
        chips.append(Chip("Search", value_of(SEARCH), partial(_clear, SEARCH)))
    for by, (key, _) in FIELDS.items():
        if value_of(key):
            chips.append(Chip(by.value, value_of(key), partial(_clear, key)))
    return chips


def _clear(key: str) -> None:
    back_to_latest()
    _set(key, "")


def _set(key: str, value: str) -> None:
    """Set a filter, empty for any; the need has no widget, so only the address keeps it."""
    if key != NEED:
        st.session_state[key] = value or (ALL if key == RECORD else "")
    elif value:
        st.query_params[NEED] = value
    else:
        st.query_params.pop(NEED, None)


def _parameters() -> dict[str, str]:
    said = {key: value_of(key) for key in (*_KEPT, NETWORK) if key != NEED}
    if need := chosen_need():
        said[NEED] = need.value
    return {key: value for key, value in said.items() if value and value not in {ALL, ALL_NETWORKS}}


def _saved(queries: Application) -> None:
    saved = queries.tracked.saved_filters()
    if not (saved or filter_is_on()):
        return
    with st.container(key="saved-filters", horizontal=True, vertical_alignment="center"):
        for place, each in enumerate(saved):
            name = plain_label(each.name, _LONGEST_SHOWN)
            st.button(
                name,
                key=f"saved-{place}",
                icon=":material/bookmark:",
                help=f"Saved by {plain_label(each.saved_by, _LONGEST_SHOWN)}",
                on_click=_apply,
                args=(queries, each),
            )
        if not may(queries, Action.SAVE_FILTER):
            return
        if filter_is_on():
            with st.popover("Save this filter", icon=":material/bookmark_add:"):
                _save_form(queries)
        if saved:
            with st.popover("Remove a saved filter", icon=":material/bookmark_remove:"):
                _remove_form(queries, saved)


def _apply(queries: Application, wanted: SavedFilter) -> None:
    back_to_latest()
    named = wanted.parameters.get(NETWORK)
    networks = {str(each.network_id): each for each in queries.networks}
    choose_network(networks.get(named or ""))
    for key in _KEPT:
        _set(key, wanted.parameters.get(key, ""))


def _save_form(queries: Application) -> None:
    with st.form("save_filter", border=False):
        name = st.text_input("Name, seen by everybody", max_chars=LONGEST_FILTER_NAME)
        if st.form_submit_button("Save", type="primary"):
            parameters = _parameters()
            if NETWORK in parameters:
                parameters[NETWORK] = str(chosen_network_id(queries.networks))
            act(
                queries,
                lambda by: queries.tracked.save_filter(name, parameters, by),
                lambda kept: Done(f"The filter “{kept}” is saved for everybody"),
            )


def _remove_form(queries: Application, saved: tuple[SavedFilter, ...]) -> None:
    with st.form("remove_filter", border=False):
        names = [each.name for each in saved]
        name = st.selectbox(
            "Saved filter", names, format_func=lambda each: visible(each, _LONGEST_SHOWN)
        )
        if st.form_submit_button("Remove", type="primary") and name is not None:
            act(
                queries,
                lambda by: queries.tracked.remove_filter(name, by),
                lambda _: Done(f"The filter “{name}” is removed"),
            )
