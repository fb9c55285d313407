"""The pages as a server process over a long past of three simulated networks."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.settings import load_settings
from dashboard.web.files import SiteMap
from dashboard.wiring.clock import utc_now
from dashboard.wiring.devnet import fill_with_history
from dashboard.wiring.networks import shown_networks
from dashboard.wiring.page_settings import profile_of
from dashboard.wiring.store import open_checked_store

SCRIPT = Path(show.__file__).parent / "main.py"


def build() -> st.App:
    """Fill the folder that LINEWATCH_TEST_FOLDER names with so many days, and serve pages."""
    folder, days = os.environ["LINEWATCH_TEST_FOLDER"], int(os.environ["LINEWATCH_TEST_DAYS"])
    settings = load_settings({"LINEWATCH_HOME": folder, "LINEWATCH_DEVNET_NETWORKS": "3"})
    fill_with_history(settings, timedelta(days=days), is_store_named=True)
    cards = tuple(profile_of(each, settings) for each in shown_networks(settings))
    store = open_checked_store(settings)
    application.register(Application(store, cards, None, utc_now))
    return st.App(SCRIPT, middleware=[Middleware(SiteMap)])
