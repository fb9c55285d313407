"""The pages of a busy shift: twelve networks, a storm, a node that answers, links as in mails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st
from starlette.middleware import Middleware

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.alerts.signed_link import LinkPurpose, SignedLink, sign
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.alerts.incident_list import open_incident_stories
from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.web.files import SiteMap
from dashboard.web.gate import StrictHeaders
from dashboard.web.signed_links import SignedLinks
from tests.browser.seeded_incidents import OPS, Night, seed_incidents
from tests.browser.seeded_networks import profiles, seed_networks
from tests.browser.seeded_store import utc_now
from tests.databases import new_sqlite_store

LINK: Final = "acknowledge-link"
"""The file in the site's folder that holds the path of a mail's link to acknowledge."""

_KEY: Final = b"k" * 32
SCRIPT = Path(show.__file__).parent / "main.py"


def build() -> st.App:
    """Seed a store in the folder that LINEWATCH_TEST_FOLDER names, and serve pages from it."""
    folder = Path(os.environ["LINEWATCH_TEST_FOLDER"])
    store = open_store(new_sqlite_store(folder / "linewatch.sqlite"))
    networks, now = profiles(int(os.environ.get("LINEWATCH_TEST_NETWORKS", "12"))), utc_now()
    seed_networks(store, networks, now)
    seed_incidents(store, now, Night(networks[0].network_id, networks[-1].network_id, None))
    (folder / LINK).write_text(_acknowledge_link(store))
    settings = PageSettings(public_url="https://watch.example")
    asked = [each.network_id for each in networks if each.has_exclusion]
    answer = partial(_answer_null, store, asked)
    application.register(Application(store, networks, answer, utc_now, settings=settings))
    return st.App(
        SCRIPT,
        middleware=[Middleware(StrictHeaders), Middleware(SignedLinks), Middleware(SiteMap)],
    )


def _acknowledge_link(store: Store) -> str:
    with store.write() as connection:
        key = make_link_key(connection, _KEY)
        [incident, *_] = (
            each.incident
            for each in open_incident_stories(connection, 20)
            if each.incident.rule == "rejections"
        )
    until = utc_now() + timedelta(days=1)
    link = SignedLink(LinkPurpose.ACKNOWLEDGE, OPS, until, incident.incident_id)
    return f"/link/{sign(link, key)}"


def _answer_null(
    store: Store, asked: Sequence[NetworkId], hashes: tuple[TxHash, ...], _: object
) -> None:
    """Answer as a node that has no record of any hash that is not rejected."""
    with store.write() as connection:
        for each in asked:
            record_lookup(connection, each, utc_now(), list(map(ExclusionAnswer, hashes)))
