"""The pages over one seeded world, as a server process: the variables say in which state it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import streamlit as st
import uvicorn
from msgspec.structs import replace
from starlette.middleware import Middleware

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import NO_SETTINGS, PageSettings
from dashboard.application.lookup import LookUp
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.rule_table import RuleNames
from dashboard.domain.alerts.signed_link import LinkPurpose, SignedLink, sign
from dashboard.domain.health.observation import AnswerCounts, ExclusionAnswer, Operation
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.quantity import Clock, NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.settings import load_settings
from dashboard.store.alerts.incident_list import open_incident_stories
from dashboard.store.alerts.notifications import make_link_key
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import acquire
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.monitoring.answer_counts import record_answer_counts
from dashboard.store.monitoring.upkeep import measure, record_size
from dashboard.store.tracking.transactions import track
from dashboard.web.files import PageFiles, SiteMap
from dashboard.web.signed_links import SignedLinks
from dashboard.web.strict_headers import StrictHeaders
from dashboard.wiring.channels import rules_of_text
from dashboard.wiring.devnet import fill_with_history
from dashboard.wiring.networks import shown_networks
from dashboard.wiring.page_settings import ShownConfiguration, profile_of
from dashboard.wiring.store import open_checked_store
from tests.browser.seeded_hostile_texts import (
    HOSTILE_NETWORKS,
    fail_in_hostile_words,
    hostile_configuration,
    seed_hostile_texts,
)
from tests.browser.seeded_incidents import NIGHT, OPS, Night, seed_incidents
from tests.browser.seeded_networks import FAILING, profiles, rejected_hash, seed_networks
from tests.browser.seeded_notifications import seed_notifications
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed, tx_hash, utc_now
from tests.databases import new_sqlite_store
from tests.unit.show.page_runs import UnreadableStore

BROKEN: Final = tx_hash(123)
"""The transaction about which no question can be asked."""

SECRET: Final = "what only the log may say"
LINK: Final = "acknowledge-link"
"""The file in the folder of a shift that holds the path of a mail's link to acknowledge."""

_KEY: Final = b"k" * 32
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
    """What a visitor finds.

    Of up to twelve networks, at a moment that stands still: nothing yet, a usual day, a storm,
    old figures, an unreadable store. As time goes on: a day of three networks, a night of
    incidents, a busy shift, a long past, and what others write as hostile as can be.
    """

    EMPTY = "empty"
    NORMAL = "normal"
    STORM = "storm"
    STALE = "stale"
    ERROR = "error"
    DAY = "day"
    NIGHT = "night"
    SHIFT = "shift"
    PAST = "past"
    HOSTILE = "hostile"


@dataclass(frozen=True)
class Site:
    """What is served; `look_up` answers a live question, if one can be asked."""

    store: Store
    networks: tuple[NetworkProfile, ...]
    look_up: LookUp | None = None
    settings: PageSettings = NO_SETTINGS
    now: Clock = utc_now


def main(port: str) -> None:
    """Serve the pages until the end."""
    uvicorn.run(build(), port=int(port))


def build() -> st.App:
    """Seed a store in the folder that LINEWATCH_TEST_FOLDER names, and make pages of it."""
    state = SiteState(os.environ["LINEWATCH_TEST_STATE"])
    make = _MAKERS.get(state, partial(_still, state))
    site = make(Path(os.environ["LINEWATCH_TEST_FOLDER"]), os.environ)
    application.register(
        Application(site.store, site.networks, site.look_up, site.now, settings=site.settings)
    )
    stages = (StrictHeaders, SignedLinks, PageFiles, SiteMap)
    return st.App(SCRIPT, middleware=[Middleware(each) for each in stages])


def with_rules(networks: Sequence[NetworkProfile], **more: Any) -> PageSettings:  # noqa: ANN401 - any setting
    """Return settings with which a file of rules can be read."""
    names = RuleNames({each.name: each.network_id for each in networks})
    return PageSettings(read_rules=partial(rules_of_text, names), rule_names=names, **more)


def _still(state: SiteState, folder: Path, variables: Mapping[str, str]) -> Site:
    """Let time stand still, so that two pictures of a page agree."""
    networks, now = profiles(int(variables["LINEWATCH_TEST_NETWORKS"])), utc_now()
    seen_at = now + timedelta(hours=2 if state is SiteState.STALE else 0, seconds=3)
    settings = with_rules(
        networks,
        public_url="https://watch.example",
        recipients=ConfiguredRecipients((OPS, NIGHT)),
        configuration=ShownConfiguration(lambda: seen_at, _VARIABLES).state,
    )
    store = _still_store(state, folder, networks, now)
    return Site(store, networks, settings=settings, now=lambda: seen_at)


def _still_store(
    state: SiteState, folder: Path, networks: tuple[NetworkProfile, ...], now: datetime
) -> Store:
    if state is SiteState.ERROR:
        return UnreadableStore()
    store = open_store(new_sqlite_store(folder / "linewatch.sqlite"))
    if state is SiteState.EMPTY:
        return store
    seed_networks(store, networks, now)
    first = networks[0].network_id
    _track(store, first, now)
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


def _track(store: Store, network: NetworkId, now: datetime) -> None:
    """Track some that were rejected, and some of which nothing is known."""
    with store.write() as connection:
        for number in range(9):
            of_one = rejected_hash(network, number) if number < 4 else tx_hash(number)
            label = f"Case {1742 + number // 3}"
            request = TrackRequest(
                of_one, (network,), Remarks(label=label, note="sent by the wallet")
            )
            track(connection, request, now - timedelta(minutes=11 * number))


def _day(folder: Path, _: Mapping[str, str]) -> Site:
    store = seed(folder, utc_now(), seed_notifications)
    with store.write() as connection:
        size = measure(connection, utc_now())
        for days in (10, 8, 6, 4, 2):  # it grew
            then = size.measured_at - timedelta(days=days)
            record_size(connection, replace(size, measured_at=then, bytes=size.bytes // 3))
        record_size(connection, size)
    answer = partial(_answer_null, store, [SIMULATED.network_id])
    return Site(store, (SIMULATED, SILENT, FLAT), answer)


def _answer_null(
    store: Store, asked: Sequence[NetworkId], hashes: tuple[TxHash, ...], _: object
) -> None:
    """Answer as nodes that know of no rejection; of one hash the program fails."""
    if BROKEN in hashes:
        raise RuntimeError(SECRET)
    with store.write() as connection:
        for each in asked:
            record_lookup(connection, each, utc_now(), list(map(ExclusionAnswer, hashes)))


def _night(folder: Path, _: Mapping[str, str]) -> Site:
    networks = (SIMULATED, SILENT, FLAT)
    return Site(seed(folder, utc_now(), seed_incidents), networks, settings=with_rules(networks))


def _shift(folder: Path, variables: Mapping[str, str]) -> Site:
    """Let twelve networks be watched in a storm, with links as in mails."""
    store = open_store(new_sqlite_store(folder / "linewatch.sqlite"))
    networks, now = profiles(int(variables.get("LINEWATCH_TEST_NETWORKS", "12"))), utc_now()
    seed_networks(store, networks, now)
    seed_incidents(store, now, Night(networks[0].network_id, networks[-1].network_id, None))
    (folder / LINK).write_text(_acknowledge_link(store))
    asked = [each.network_id for each in networks if each.has_exclusion]
    settings = PageSettings(public_url="https://watch.example")
    return Site(store, networks, partial(_answer_null, store, asked), settings)


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


def _past(folder: Path, variables: Mapping[str, str]) -> Site:
    """Let three simulated networks have been watched for so many days."""
    days = timedelta(days=int(variables["LINEWATCH_TEST_DAYS"]))
    settings = load_settings({"LINEWATCH_HOME": str(folder), "LINEWATCH_DEVNET_NETWORKS": "3"})
    fill_with_history(settings, days, is_store_named=True)
    networks = tuple(profile_of(each, settings) for each in shown_networks(settings))
    return Site(open_checked_store(settings), networks)


def _hostile(folder: Path, _: Mapping[str, str]) -> Site:
    store = seed_hostile_texts(folder)
    settings = with_rules(HOSTILE_NETWORKS, configuration=hostile_configuration)
    return Site(store, HOSTILE_NETWORKS, partial(fail_in_hostile_words, store), settings)


_MAKERS: Final[Mapping[SiteState, Callable[[Path, Mapping[str, str]], Site]]] = {
    SiteState.DAY: _day,
    SiteState.NIGHT: _night,
    SiteState.SHIFT: _shift,
    SiteState.PAST: _past,
    SiteState.HOSTILE: _hostile,
}
STILL: Final = tuple(each for each in SiteState if each not in _MAKERS)
"""The states in which time stands still."""
