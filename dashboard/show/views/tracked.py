"""Tracked answers: what is watched, what is the verdict of each, what needs a look."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import streamlit as st

from dashboard.domain.quantity import NetworkId
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.list_page import (
    choice_filter,
    filter_bar,
    page_of_rows,
    search_filter,
)
from dashboard.show.parts.network_chooser import chosen_network_id, chosen_networks
from dashboard.show.parts.notices import empty, no_network, store_errors_shown
from dashboard.show.parts.sender_list import senders_part
from dashboard.show.parts.track_form import track_list_form
from dashboard.show.parts.tracked_list import tracked_list
from dashboard.show.queries import page_queries
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.tracked import TrackedCounts, tracked_filter
from dashboard.show.text import moment
from dashboard.show.views import lookup
from dashboard.store.tracking.search import RecordStatus, TrackedFilter

REFRESH: Final = timedelta(seconds=10)
ROWS: Final = 20
PAGE_NUMBER: Final = "tracked_page"
RECORD: Final = "record"
SEARCH: Final = "tracked_search"
_ALL: Final = "All"
_STATUSES: Final = {
    _ALL: None,
    "Rejected": RecordStatus.REJECTED,
    "No record": RecordStatus.UNREPORTED,
    "No answer": RecordStatus.UNANSWERED,
}


def as_page() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Tracked", url_path="tracked")


def page() -> None:
    """Show the forms beside what is tracked."""
    queries = page_queries.current()
    head = st.container()
    adding, listed = st.columns([5, 8], gap="medium")
    with adding:
        with st.container(key="card-track", gap="small"):
            section("Track transactions")
            _track_list_form(queries)
        _senders(queries)
    with listed:
        _live()
    with head:
        _head()


def _track_list_form(queries: PageQueries) -> None:
    network_ids = [
        profile.network_id for profile in chosen_networks(queries.networks) if profile.has_exclusion
    ]
    if network_ids:
        track_list_form(queries, network_ids)
    elif queries.networks:
        empty(
            "This network has no exclusion endpoint",
            "Choose another, or give it one in linewatch.toml: exclusion = { url = … }.",
        )
    else:
        no_network()


def _senders(queries: PageQueries) -> None:
    """Offer to watch senders where nodes report to our own serve: only they name senders."""
    profiles = [
        profile for profile in chosen_networks(queries.networks) if profile.sees_all_reports
    ]
    if profiles:
        with st.container(key="card-senders", gap="small"):
            section(
                "Watch senders", "Every rejection of a watched sender is tracked automatically."
            )
            with store_errors_shown():
                senders_part(queries, [profile.network_id for profile in profiles])


@st.fragment(run_every=REFRESH)
def _head() -> None:
    queries = page_queries.current()
    with store_errors_shown("Tracked"):
        counts = queries.tracked.counts(chosen_network_id(queries.networks))
        heading("Tracked", f"{headline(counts)} As of {moment(queries.now())}.")


def headline(counts: TrackedCounts) -> str:
    """Say how many are tracked, and how many of them need a look."""
    if not counts.total:
        return "Nothing is tracked yet."
    tracked = "1 transaction" if counts.total == 1 else f"{counts.total:,} transactions"
    unanswered = f", {counts.unanswered:,} without an answer yet" if counts.unanswered else ""
    rejected = f"{counts.rejected:,}" if counts.rejected else "none"
    return f"{tracked}: {rejected} rejected{unanswered}."


@st.fragment(run_every=REFRESH)
def _live() -> None:
    queries = page_queries.current()
    with store_errors_shown():
        network_id = chosen_network_id(queries.networks)
        if not queries.tracked.counts(network_id).total:
            empty(
                "Nothing is tracked yet",
                "Paste a transaction hash, or choose a CSV file. Each is asked about at once, "
                "then less and less often for seven days.",
            )
            return
        wanted = _filter(queries, network_id)
        _list(queries, wanted)


def _filter(queries: PageQueries, network_id: NetworkId | None) -> TrackedFilter:
    with filter_bar():
        status = choice_filter("On record", list(_STATUSES), RECORD, _ALL)
        text = search_filter(SEARCH, "Label, note, reason, hash, sender or network")
    wanted = tracked_filter(queries.context, network_id, text)
    return replace(wanted, record_status=_STATUSES[status])


def _list(queries: PageQueries, wanted: TrackedFilter) -> None:
    total = queries.tracked.count(wanted)
    if not total:
        empty("Nothing fits these filters", "Take one away to see what is tracked.")
        return

    def draw(number: int) -> None:
        entries = queries.tracked.page(wanted, number, ROWS)
        tracked_list(queries, entries, queries.now(), lookup.as_page())

    with st.container(key="card-tracked", gap="small"):
        section("1 transaction" if total == 1 else f"{total:,} transactions")
        page_of_rows(total, ROWS, PAGE_NUMBER, draw)
