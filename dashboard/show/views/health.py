"""Health answers: does Linewatch itself work, and what must be done where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.domain.coverage import Gap
from dashboard.show.parts.heading import heading, section
from dashboard.show.parts.health_cards import (
    gap_table,
    kinds_part,
    mail_part,
    network_part,
    store_part,
    worker_part,
)
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.network_chooser import chosen_networks
from dashboard.show.parts.notices import (
    missing_links_shown,
    no_network,
    store_errors_shown,
)
from dashboard.show.parts.notification_table import incident_row
from dashboard.show.queries import page_queries
from dashboard.show.queries.health import health_problems
from dashboard.show.queries.network_status import NetworkProfile
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import moment
from dashboard.store.alerts.alert_status import OpenIncident

REFRESH: Final = timedelta(seconds=4)


def as_page() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Health", url_path="health")


def page() -> None:
    """Show the page: what changes by itself refreshes by itself."""
    _live()


@st.fragment(run_every=REFRESH)
def _live() -> None:
    queries = page_queries.current()
    now = queries.now()
    with store_errors_shown():
        health = queries.health.health()
        problems = health_problems(health, now)
        heading("Health", f"{headline(problems)} As of {moment(now)}.")
        worker, mail, store = st.columns(3, gap="small")
        with worker, st.container(key="card-worker", height="stretch"):
            st.html(
                worker_part(health.holders, health.heartbeat, now, is_space_low=health.is_space_low)
            )
        with mail, st.container(key="card-mail", height="stretch"):
            st.html(mail_part(health.mail, health.recipients, now))
        with store, st.container(key="card-store", height="stretch"):
            st.html(store_part(health.store, queries.store_name, is_space_low=health.is_space_low))
        missing_links_shown(queries.context.settings.public_url)
        if not health.networks:
            no_network()
        chosen = chosen_networks(queries.networks)
        for each in health.networks:
            if each.profile in chosen:
                with st.container(key=f"card-network-{each.profile.network_id}"):
                    incidents = _open(queries, health.incidents, each.profile, now)
                    st.html(join(network_part(each, now), incidents))
        chosen_ids = {profile.network_id for profile in chosen}
        _gaps(queries, [gap for gap in health.gaps if gap.network_id in chosen_ids], now)
        if health.store.measured is not None:
            with st.container(key="card-store-kinds"):
                st.html(kinds_part(health.store.measured))


def _open(
    queries: PageQueries, incidents: Sequence[OpenIncident], profile: NetworkProfile, now: datetime
) -> Markup:
    """Show the open incidents of a network, which may last longer than a failure."""
    rows = [
        incident_row(each, queries.context, now)
        for each in incidents
        if each.subject.network_id == profile.network_id
    ]
    label = element("p", "Open now, as Alerts says", class_="lw-label lw-spaced")
    return join(label, *rows) if rows else Markup()


def _gaps(queries: PageQueries, gaps: Sequence[Gap], now: datetime) -> None:
    """List the times in which something was not watched, where there were any."""
    if gaps:
        with st.container(key="card-gaps", gap="small"):
            section("Gaps", "When nobody asked, or nobody answered, in the last 30 days.")
            st.html(gap_table(gaps, queries.context, now))


def headline(problems: list[str]) -> str:
    """Say in one sentence whether all is well, or what needs a look."""
    if not problems:
        return "All is well."
    return f"Needs a look: {'; '.join(problems)}."
