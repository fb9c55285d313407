"""The pages in a chosen state, as a server process: empty, normal, storm, stale, error."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st
from starlette.middleware import Middleware

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.rule_table import RuleNames
from dashboard.domain.health.observation import AnswerCounts, Operation
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import acquire
from dashboard.store.monitoring.answer_counts import record_answer_counts
from dashboard.store.tracking.transactions import track
from dashboard.web.files import SiteMap
from dashboard.web.gate import StrictHeaders
from dashboard.wiring.channels import rules_of_text
from dashboard.wiring.page_settings import ShownConfiguration
from tests.browser.seeded_incidents import NIGHT, OPS, Night, seed_incidents
from tests.browser.seeded_networks import FAILING, profiles, rejected_hash, seed_networks
from tests.browser.seeded_store import tx_hash, utc_now
from tests.databases import new_sqlite_store
from tests.unit.show.page_runs import UnreadableStore

_ANSWERED: Final = AnswerCounts(answered=75, times=(0, 0, 0, 6, 44, 20, 5, 0, 0, 0, 0, 0))
_VARIABLES: Final = {
    "LINEWATCH_HOME": "/srv/linewatch",
    "LINEWATCH_MAIL_SMTP_HOST": "mail.example",
    "LINEWATCH_MAIL_PASSWORD": "not shown",
    "LINEWATCH_MAIL_RECIPIENTS": "oncall@mail.example",
    "LINEWATCH_PAGES_PUBLIC_URL": "https://watch.example",
}
_QUESTIONS: Final = (
    Operation.SUGGESTED_GAS_FEES,
    Operation.BUSY_THRESHOLD,
    Operation.BASE_FEE_PERCENTILE,
)
SCRIPT = Path(show.__file__).parent / "main.py"


class SiteState(StrEnum):
    """What a visitor finds: nothing yet, a usual day, a storm, old figures, an unreadable store."""

    EMPTY = "empty"
    NORMAL = "normal"
    STORM = "storm"
    STALE = "stale"
    ERROR = "error"


def build() -> st.App:
    """Serve the state LINEWATCH_TEST_STATE of LINEWATCH_TEST_NETWORKS networks.

    Time stands still, so that two pictures of a page agree.
    """
    state = SiteState(os.environ["LINEWATCH_TEST_STATE"])
    networks = profiles(int(os.environ["LINEWATCH_TEST_NETWORKS"]))
    now = utc_now()
    store = _store(state, networks, now)
    seen_at = now + timedelta(hours=2 if state is SiteState.STALE else 0, seconds=3)
    names = RuleNames({each.name: each.network_id for each in networks})
    settings = PageSettings(
        public_url="https://watch.example",
        recipients=ConfiguredRecipients((OPS, NIGHT)),
        read_rules=partial(rules_of_text, names),
        rule_names=names,
        configuration=ShownConfiguration(lambda: seen_at, _VARIABLES).state,
    )
    application.register(Application(store, networks, None, lambda: seen_at, settings=settings))
    return st.App(SCRIPT, middleware=[Middleware(StrictHeaders), Middleware(SiteMap)])


def _store(state: SiteState, networks: tuple[NetworkProfile, ...], now: datetime) -> Store:
    if state is SiteState.ERROR:
        return UnreadableStore()
    file = Path(os.environ["LINEWATCH_TEST_FOLDER"]) / "linewatch.sqlite"
    store = open_store(new_sqlite_store(file))
    if state is SiteState.EMPTY:
        return store
    seed_networks(store, networks, now)
    first = networks[0].network_id
    _track(store, networks[0], now)
    if state is SiteState.STORM:
        silent = next((each.network_id for each in networks if each.name == FAILING), None)
        night = Night(
            first, silent, None, 38, "Ada", "asked the provider", "550 5.1.1 no such user"
        )
        seed_incidents(store, now, night)
    with store.write() as connection:
        _work(connection, networks, now)
    return store


def _work(connection: Connection, networks: tuple[NetworkProfile, ...], now: datetime) -> None:
    """Let a worker run that was answered all day, but for one hour of the last network."""
    assert acquire(connection, "worker", "watch-1/812/a", timedelta(hours=8)) is not None
    for network in networks:
        for quarters in range(96):
            at = now - timedelta(minutes=15 * quarters)
            is_out = network is networks[-1] and 20 < quarters < 25
            is_out = is_out or (network.name == FAILING and quarters < 9)
            each = AnswerCounts(failed=75) if is_out else _ANSWERED
            counts = dict.fromkeys(_QUESTIONS, each)
            record_answer_counts(connection, network.network_id, at, counts)


def _track(store: Store, network: NetworkProfile, now: datetime) -> None:
    """Track some that were rejected, and some of which nothing is known."""
    with store.write() as connection:
        for number in range(9):
            of_one = rejected_hash(network.network_id, number) if number < 4 else tx_hash(number)
            label = f"Case {1742 + number // 3}"
            request = TrackRequest(of_one, (network.network_id,), None, label, "sent by the wallet")
            track(connection, request, now - timedelta(minutes=11 * number))
