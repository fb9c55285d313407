"""Rejections answers: what is rejected, where, by which module, and is it getting worse."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.quantity import NetworkId
from dashboard.domain.reason_labels import KIND_NAMES, name_of
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.show.parts.counts import Bar, bars, ranking
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.list_page import (
    choice_filter,
    csv_button,
    filter_bar,
    page_of_rows,
    search_filter,
)
from dashboard.show.parts.network_chooser import chosen_network_id
from dashboard.show.parts.notices import empty, store_errors_shown
from dashboard.show.parts.rejection_table import coverage, rejection_table, unknown_reason_table
from dashboard.show.parts.sender_list import sender_ranking
from dashboard.show.queries import page_queries
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.rejections import (
    MOST_EXPORTED,
    PERIODS,
    Period,
    RejectionSummary,
    rejection_filter,
    rejections_csv,
)
from dashboard.show.text import moment, span
from dashboard.store.rejections.counts import LATEST_RANKED

REFRESH: Final = timedelta(seconds=10)
ROWS: Final = 25
PAGE_NUMBER: Final = "page"
PERIOD: Final = "period"
STAGE: Final = "stage"
MODULE: Final = "module"
SEARCH: Final = "search"
ANY: Final = "Any"
USUAL_PERIOD: Final = "24 h"
MOST_RANKED: Final = 10
_MOST_MODULES: Final = 100
_MODULE: Final = re.compile(r"\w{1,64}", re.ASCII)
_STAGES: Final = tuple(stage.value for stage in RejectionStage)


def as_page() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Rejections", url_path="rejections")


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    _live()


@st.fragment(run_every=REFRESH)
def _live() -> None:
    queries = page_queries.current()
    with store_errors_shown("Rejections"):
        network_id = chosen_network_id(queries.networks)
        head = st.container()
        with filter_bar():
            period_name = choice_filter("Time", list(PERIODS), PERIOD, USUAL_PERIOD)
            period = PERIODS[period_name]
            everything = queries.rejections.summary(RejectionFilter(network_id), period)
            wanted = _filter(queries, network_id, everything)
        summary = queries.rejections.summary(wanted, period)
        with head:
            heading("Rejections", f"{headline(summary, period)} As of {moment(queries.now())}.")
        if not everything.total and not everything.before:
            _nothing_yet(queries)
            return
        _counts(queries, wanted, summary, period)
        _senders(queries, wanted, period_name)
        _list(queries, wanted, summary, period)
        _unknown_reasons(queries, network_id)


def _filter(
    queries: PageQueries, network_id: NetworkId | None, everything: RejectionSummary
) -> RejectionFilter:
    """Offer the other filters; modules to choose from are those that reasons name in this time."""
    stages = [ANY, *_STAGES]
    stage = st.selectbox("Stage", stages, key=STAGE, bind="query-params", width=150)
    modules = _modules(everything)
    module = st.selectbox("Module", modules, key=MODULE, bind="query-params", width=260)
    text = search_filter(SEARCH, "Reason, stage, hash, sender, label, network")
    kind = next((kind for kind, words in KIND_NAMES.items() if words == module), None)
    return replace(
        rejection_filter(queries.context, network_id, text),
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


def headline(summary: RejectionSummary, period: Period) -> str:
    """Say how many there are, and whether it is getting worse."""
    length = period.words
    many = "No rejection" if not summary.total else _count(summary.total)
    if not (summary.now.is_whole and summary.earlier.is_whole):
        return f"{many} in the last {length}{_uncompared(summary, length)}"
    more = summary.total - summary.before
    trend = "as many as" if not more else f"{abs(more):,} {'more' if more > 0 else 'fewer'} than"
    if not summary.total and not summary.before:
        return f"{many} in the last {length}, and none in the {length} before."
    return f"{many} in the last {length}, {trend} in the {length} before."


def _uncompared(summary: RejectionSummary, length: str) -> str:
    """Say how much was watched, since what was not cannot be compared."""
    now, earlier = summary.now, summary.earlier
    text = ""
    if not now.is_whole:
        text = f", {span(now.watched) if now.watched else 'none'} of it watched"
    if not earlier.watched:
        return f"{text}. There is nothing to compare with: nobody watched the {length} before."
    watched = "" if earlier.is_whole else f", of which {span(earlier.watched)} were watched"
    return f"{text}; not compared with the {length} before{watched}."


def _count(number: int) -> str:
    return "1 rejection" if number == 1 else f"{number:,} rejections"


def _nothing_yet(queries: PageQueries) -> None:
    empty(
        "No rejection seen in this time",
        f"Covered: {coverage(queries.networks)} Choose a longer time, or track a transaction on "
        "the page Tracked; its rejection appears here.",
    )


def _counts(
    queries: PageQueries, wanted: RejectionFilter, summary: RejectionSummary, period: Period
) -> None:
    over_time, by_module = st.columns([8, 5], gap="medium")
    with over_time, st.container(key="card-over-time", gap="small"):
        section("When", "By the time each was seen here, in UTC.")
        drawn = [
            Bar(
                _step_name(begins, period),
                {stage.value: many for stage, many in of.items()},
                is_unwatched=begins in summary.unwatched,
            )
            for begins, of in summary.steps
        ]
        st.html(bars(drawn, _STAGES, headline(summary, period)))
    with by_module, st.container(key="card-modules", gap="small"):
        section("Modules", "What the reasons name; each names the first that was over its limit.")
        of_all_modules = replace(wanted, module=None, reason_kind=None)
        _ranking(queries.rejections.summary(of_all_modules, period))


def _senders(queries: PageQueries, wanted: RejectionFilter, period_name: str) -> None:
    """Rank the senders, where there is more than one."""
    counted = queries.rejections.senders(wanted, PERIODS[period_name])
    if counted.of > 1:
        with st.container(key="card-senders", gap="small"):
            more = f"The first {len(counted.groups)} of {counted.of:,}. "
            rest = more if counted.of > len(counted.groups) else ""
            latest = f"Of the latest {LATEST_RANKED:,}. " if counted.total >= LATEST_RANKED else ""
            note = f"{latest}{rest}Watch one on the page Tracked to be notified of each."
            section("Senders", note)
            st.html(sender_ranking(counted, period_name))


def _ranking(summary: RejectionSummary) -> None:
    named = [(name_of(each), count) for each, count in summary.named.most_common()]
    shown = named[:MOST_RANKED]
    rest = sum(count for _, count in named[MOST_RANKED:])
    if rest:
        shown.append((f"{len(named) - MOST_RANKED} others", rest))
    chosen = st.session_state.get(MODULE, ANY)
    st.html(ranking(shown, chosen))


def _step_name(begins: datetime, period: Period) -> str:
    if period.step >= timedelta(days=1):
        return f"{begins:%d %b %Y}" if period.step > timedelta(days=1) else f"{begins:%d %b}"
    return f"{begins:%d %b %H:%M}"


def _list(
    queries: PageQueries, wanted: RejectionFilter, summary: RejectionSummary, period: Period
) -> None:
    with st.container(key="card-rejections", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            section(_count(summary.total), coverage(queries.networks))
            _download(queries, wanted, summary, period)
        if not summary.total:
            empty("Nothing fits these filters", "Take one away, or choose a longer time.")
            return

        def draw(number: int) -> None:
            found = queries.rejections.page(wanted, period, number, ROWS)
            st.html(rejection_table(found, queries.context))

        page_of_rows(summary.total, ROWS, PAGE_NUMBER, draw)


def _download(
    queries: PageQueries, wanted: RejectionFilter, summary: RejectionSummary, period: Period
) -> None:
    def write() -> str:
        found = queries.rejections.page(wanted, period, 1, MOST_EXPORTED)
        return rejections_csv(found, queries.context)

    csv_button(
        write,
        f"rejections-{queries.now():%Y%m%dT%H%M%SZ}.csv",
        "csv",
        note=f"The latest {MOST_EXPORTED:,} of them." if summary.total > MOST_EXPORTED else None,
        disabled=not summary.total,
    )


def _unknown_reasons(queries: PageQueries, network_id: NetworkId | None) -> None:
    unknown = queries.rejections.unknown_reasons(network_id)
    if unknown:
        with st.container(key="card-unknown-reasons", gap="small"):
            section(
                "Reasons that Linewatch does not know",
                "Of the latest, the commonest first. One that comes often is a new form.",
            )
            st.html(unknown_reason_table(unknown))
