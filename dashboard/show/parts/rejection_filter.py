"""The filters of the page Rejections, kept in the address: length, stage, module and text."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Final

import streamlit as st

from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.reason_names import KIND_NAMES, name_of
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.domain.search import LONGEST_SEARCH, parse_search
from dashboard.show.queries.rejections import Period, RejectionSummary

ANY: Final = "Any"
LENGTH: Final = "length"
STAGE: Final = "stage"
MODULE: Final = "module"
TEXT: Final = "text"
PERIODS: Final = {
    "1 h": Period("hour", timedelta(hours=1), timedelta(minutes=2)),
    "24 h": Period("24 h", timedelta(hours=24), timedelta(hours=1)),
    "7 d": Period("7 days", timedelta(days=7), timedelta(hours=6)),
    "30 d": Period("30 days", timedelta(days=30), timedelta(days=1)),
    "1 y": Period("year", timedelta(days=371), timedelta(days=7)),
}
_USUAL: Final = "24 h"
_MOST_MODULES: Final = 100
_LABEL: Final = "label:"
_MODULE: Final = re.compile(r"\w{1,64}", re.ASCII)


def chosen_period() -> str:
    """Return the name of the length of time that was chosen."""
    chosen = st.session_state.get(LENGTH, st.query_params.get(LENGTH))
    return chosen if chosen in PERIODS else _USUAL


def filter_bar(everything: RejectionSummary) -> None:
    """Show the filters; modules to choose from are those that reasons named in this time."""
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Time", list(PERIODS), default=_USUAL, required=True, key=LENGTH, bind="query-params"
        )
        stages = [ANY, *(stage.value for stage in RejectionStage)]
        st.selectbox("Stage", stages, key=STAGE, bind="query-params", width=150)
        st.selectbox("Module", _modules(everything), key=MODULE, bind="query-params", width=260)
        st.text_input(
            "Search",
            key=TEXT,
            bind="query-params",
            max_chars=LONGEST_SEARCH,
            type="search",
            placeholder="Reason, stage, hash, sender, label, network",
        )


def chosen_filter() -> RejectionFilter:
    """Return what the filters ask for, of any network and time."""
    stage = st.session_state.get(STAGE, ANY)
    module = st.session_state.get(MODULE, ANY)
    kind = next((kind for kind, words in KIND_NAMES.items() if words == module), None)
    return replace(
        _searched(str(st.session_state.get(TEXT) or "").strip()),
        tx_rejection_stage=None if stage == ANY else RejectionStage(stage),
        module="" if kind else None if module == ANY else module,
        reason_kind=kind,
    )


def _modules(everything: RejectionSummary) -> list[str]:
    """Return what can be chosen: the commonest first, and what the address names."""
    named = list(dict.fromkeys(name_of(each) for each, _ in everything.named.most_common()))
    chosen = str(st.session_state.get(MODULE, st.query_params.get(MODULE, ANY)))
    options = [ANY, *named[:_MOST_MODULES]]
    is_name = _MODULE.fullmatch(chosen) or chosen in KIND_NAMES.values()
    return options if chosen in options or not is_name else [*options, chosen]


def _searched(text: str) -> RejectionFilter:
    """Tell hashes, an address and a whole label from words that stand on the page."""
    if text.startswith(_LABEL):
        return RejectionFilter(label=text.removeprefix(_LABEL).strip())
    found = parse_search(text)
    return RejectionFilter(
        sender=found.sender,
        tx_hashes=found.tx_hashes,
        search=found.words,
        beginning=found.beginning,
    )
