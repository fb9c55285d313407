"""The pages on a night of incidents, as a server process for browser tests."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.alerts.rule_table import RuleNames
from dashboard.web.files import SiteMap
from dashboard.web.gate import StrictHeaders
from dashboard.wiring.channels import rules_of_text
from tests.browser.seeded_incidents import seed_incidents
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed, utc_now

SCRIPT = Path(show.__file__).parent / "main.py"


def build() -> st.App:
    """Seed a store in the folder that LINEWATCH_TEST_FOLDER names, and serve pages from it."""
    store = seed(Path(os.environ["LINEWATCH_TEST_FOLDER"]), utc_now())
    seed_incidents(store, utc_now())
    networks = (SIMULATED, SILENT, FLAT)
    names = RuleNames({each.name: each.network_id for each in networks})
    settings = PageSettings(read_rules=partial(rules_of_text, names), rule_names=names)
    application.register(Application(store, networks, None, utc_now, settings=settings))
    return st.App(SCRIPT, middleware=[Middleware(StrictHeaders), Middleware(SiteMap)])
