"""The pages as a server process for browser tests: a seeded store and an upstream of our own."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import streamlit as st
from starlette.middleware import Middleware

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.monitoring.upkeep import measure, record_size
from dashboard.web.files import SiteMap
from dashboard.web.gate import StrictHeaders
from tests.browser.seeded_notifications import seed_notifications
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed, tx_hash, utc_now

BROKEN: Final = tx_hash(123)
"""The transaction about which no question can be asked."""

SECRET: Final = "what only the log may say"
SCRIPT = Path(show.__file__).parent / "main.py"


def build() -> st.App:
    """Seed a store in the folder that LINEWATCH_TEST_FOLDER names, and serve pages from it."""
    store = seed(Path(os.environ["LINEWATCH_TEST_FOLDER"]), utc_now())
    seed_notifications(store, utc_now())
    _measure(store)
    application.register(
        Application(
            store, (SIMULATED, SILENT, FLAT), lambda hashes, _: _answer_null(store, hashes), utc_now
        )
    )
    return st.App(SCRIPT, middleware=[Middleware(StrictHeaders), Middleware(SiteMap)])


def _measure(store: Store) -> None:
    """Let it have grown for ten days."""
    with store.write() as connection:
        now = measure(connection, utc_now())
        for days in (10, 8, 6, 4, 2):
            then = now.measured_at - timedelta(days=days)
            record_size(connection, replace(now, measured_at=then, bytes=now.bytes // 3))
        record_size(connection, now)


def _answer_null(store: Store, hashes: tuple[TxHash, ...]) -> None:
    """Answer as an upstream that has no record of any hash; of one the program fails."""
    if BROKEN in hashes:
        raise RuntimeError(SECRET)
    network_id: NetworkId = SIMULATED.network_id
    with store.write() as connection:
        answers = [ExclusionAnswer(each) for each in hashes]
        record_lookup(connection, network_id, utc_now(), answers)
