"""Health answers: does Linewatch itself work, and what must be done if it does not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Final

import streamlit as st

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.attention import Attention
from dashboard.application.health import Health, SourceRecords
from dashboard.application.health_troubles import health_troubles
from dashboard.application.source_health import NetworkHealth, OperationState, Spending
from dashboard.domain.formatting import counted
from dashboard.domain.health.observation import VERDICT_OPERATIONS
from dashboard.domain.markup import element, join
from dashboard.domain.quantity import NetworkId
from dashboard.show.parts.attention_list import attention_list
from dashboard.show.parts.frame import card, chosen_networks, expander, heading, live, section
from dashboard.show.parts.health_cards import mail_part, store_part, worker_part
from dashboard.show.parts.health_sources import (
    MOST_LISTED,
    SourceHistory,
    budget_lines,
    gap_table,
    gap_timeline,
    legend_of,
    network_head,
    plan_table,
    sorted_by_state,
    source_row,
    source_rows_head,
    source_table,
)
from dashboard.show.parts.list_page import opened
from dashboard.show.parts.notices import missing_links_shown, no_network, store_errors_shown
from dashboard.show.parts.notification_table import incident_row

REFRESH: Final = timedelta(seconds=4)
_FEW: Final = 2
"""Up to this many networks are shown with all their questions; more have a row each that opens."""


@live(REFRESH)
def page() -> None:
    queries = application.current()
    now = queries.now()
    with store_errors_shown("Health"):
        health = queries.health.health()
        troubles = health_troubles(health, now)
        heading("Health", headline(troubles, health.networks or (), now), now)
        _attention(queries, troubles)
        if not queries.networks:
            no_network()
        _sources(queries, now)
        _coverage(queries, now)
        _installation(queries, health, now)
        missing_links_shown(queries.context.settings.public_url)


def headline(
    troubles: Sequence[Attention], networks: Sequence[NetworkHealth], now: datetime
) -> str:
    """Say whether all is well, as far as known, or how much is not."""
    states = (
        each.state(now)
        for network in networks
        for each in network.operations
        if each.operation in VERDICT_OPERATIONS
    )
    if not troubles and OperationState.NOT_ASKED in states:
        return "Nothing is wrong; some fees have not been asked for yet"
    if not troubles:
        return "All well: worker running, sources answering, notifications on time"
    return f"{counted(len(troubles), 'thing is', 'things are')} wrong"


def _attention(queries: Application, troubles: Sequence[Attention]) -> None:
    """Show what is wrong with what helps, before everything else."""
    if troubles:
        with card("attention", "What is wrong"):
            attention_list(queries, troubles, here="health", with_acts=False)


def _sources(queries: Application, now: datetime) -> None:
    """Show how every source answers, of many networks one row each."""
    if not queries.networks:
        return
    chosen = chosen_networks(queries.networks)
    with card("sources", "Sources"):
        with store_errors_shown():
            networks = [each for each in queries.health.networks() if each.profile in chosen]
            history = _history(queries)
            if len(networks) <= _FEW:
                for each in networks:
                    st.html(network_head(each, now))
                    _questions(queries, each, history, now)
            else:
                _rows(queries, networks, history, now)
            if budgets := queries.health.budgets():
                st.html(budget_lines(budgets, now))
            if history.records is not None:
                ids = [each.profile.network_id for each in networks]
                st.html(legend_of(history.records, ids))
        _plan(queries, {each.name for each in chosen})


def _plan(queries: Application, names: Collection[str]) -> None:
    """Show what asking costs, and what other settings would give."""
    with store_errors_shown():
        plan = queries.health.plan().of(names)
        if plan.lines:
            with st.expander(
                "Plan: calls and credits a day, and how late rejections are seen", key="plan"
            ):
                st.html(plan_table(plan))


def _history(queries: Application) -> SourceHistory:
    """Return the stored answers and costs; if the store does not know them, say so."""
    records: SourceRecords | None = None
    spending: Mapping[NetworkId, Spending] | None = None
    with store_errors_shown():
        records = queries.health.source_records()
    with store_errors_shown():
        spending = queries.health.spending()
    return SourceHistory(records, spending)


def _rows(
    queries: Application, networks: Sequence[NetworkHealth], history: SourceHistory, now: datetime
) -> None:
    with st.container(key="networks", gap=None):
        source_rows_head()
        for each in sorted_by_state(networks, now):
            is_open = opened() == str(each.profile.network_id)
            source_row(each, history, now, is_open=is_open)
            if is_open:
                with st.container(key=f"opened-{each.profile.network_id}", gap="small"):
                    _questions(queries, each, history, now)


def _questions(
    queries: Application, network: NetworkHealth, history: SourceHistory, now: datetime
) -> None:
    st.html(source_table(network, history, now))
    with store_errors_shown():
        statuses = {each.profile.network_id: each for each in queries.network_statuses()}
        rows = [
            incident_row(each, queries.context, now, statuses.get(network.profile.network_id))
            for each in queries.alerts.open()
            if each.subject.network_id == network.profile.network_id
        ]
        if rows:
            label = element("p", "Open now, as Alerts says", class_="lw-label lw-spaced")
            st.html(join(label, *rows))


def _coverage(queries: Application, now: datetime) -> None:
    if not queries.networks:
        return
    with st.container(key="card-gaps", gap="small"), store_errors_shown():
        chosen = chosen_networks(queries.networks)
        coverage = queries.health.coverage()
        section("Gaps", "Times without data in the last 7 days (UTC).")
        st.html(gap_timeline(coverage, chosen, now))
        ids = {profile.network_id for profile in chosen}
        listed = [each for each in coverage.gaps if each.network_id in ids]
        if listed:
            label = f"The latest {min(len(listed), MOST_LISTED)} of 30 days, with the reason"
            with expander(label, "gaps-listed"):
                st.html(gap_table(listed[:MOST_LISTED], queries.context, now))


def _installation(queries: Application, health: Health, now: datetime) -> None:
    worker, mail, store = st.columns(3, gap="small")
    is_space_low = health.storage is not None and health.storage.is_space_low
    with worker, st.container(key="card-worker", height="stretch"), store_errors_shown():
        found = queries.health.worker()
        st.html(worker_part(found, version("linewatch"), now, is_space_low=is_space_low))
    with mail, st.container(key="card-mail", height="stretch"), store_errors_shown():
        st.html(mail_part(queries.health.notifications(), now))
    with store, st.container(key="card-store", height="stretch"), store_errors_shown():
        _storage(queries)


def _storage(queries: Application) -> None:
    storage, contents = queries.health.storage(), None
    with store_errors_shown():
        contents = queries.health.contents()
    st.html(store_part(storage, contents, queries.store_name))
