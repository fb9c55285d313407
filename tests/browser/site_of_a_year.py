"""The pages as a server process over a long past of three simulated networks."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from dashboard.settings import load_settings
from dashboard.show.queries import page_queries
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.web.site_map import SiteMap
from dashboard.wiring.clock import utc_now
from dashboard.wiring.demo_history import fill_with_history
from dashboard.wiring.network_profiles import profile_of
from dashboard.wiring.networks import shown_networks
from dashboard.wiring.store import open_checked_store

SCRIPT = Path(page_queries.__file__).parents[1] / "main.py"


def build() -> st.App:
    """Fill the folder that LINEWATCH_TEST_FOLDER names with so many days, and serve pages."""
    folder, days = os.environ["LINEWATCH_TEST_FOLDER"], int(os.environ["LINEWATCH_TEST_DAYS"])
    settings = load_settings({"LINEWATCH_HOME": folder, "LINEWATCH_DEVNET_NETWORKS": "3"})
    fill_with_history(settings, timedelta(days=days), is_store_named=True)
    cards = tuple(profile_of(each, settings) for each in shown_networks(settings))
    store = open_checked_store(settings)
    page_queries.register(PageQueries(store, cards, None, utc_now))
    return st.App(SCRIPT, middleware=[Middleware(SiteMap)])
