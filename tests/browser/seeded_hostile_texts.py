"""A store in which every text that others write is hostile, for the pages in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from dashboard.application.context import (
    ApplicationContext,
    ConfigurationState,
    PageSettings,
    SettingChange,
    ShownSetting,
)
from dashboard.application.people import People
from dashboard.application.sessions import Device
from dashboard.domain.alerts.condition import Subject
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.silence import SilenceKind, SilenceRequest
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.people.access import Actor, Role
from dashboard.domain.people.sign_in import Identity, Issuer, SignInPolicy
from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import StatusClaim
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.silences import add_silence
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.save import save_gas
from dashboard.store.monitoring.answer_counts import note_failure
from dashboard.store.monitoring.upkeep import note_heartbeat_trouble
from dashboard.store.tracking.senders import WatchedSender, watch_sender
from dashboard.store.tracking.statements import record_statements
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_incidents import Night, seed_incidents
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed, utc_now
from tests.builders import a_record, a_transition, suggested_gas_fees
from tests.delivery_checks import tell_rejection
from tests.hostile_texts import HOSTILE_TEXTS
from tests.passwords import CHEAP_HASHER

_TEXT: Final = {each.name: each.text for each in HOSTILE_TEXTS}
HOSTILE_NETWORKS: Final = (
    replace(SIMULATED, name=_TEXT["link"], gas_source=_TEXT["image"], is_simulated=True),
    replace(SILENT, name=_TEXT["long"][:60], gas_source=_TEXT["script"]),
    replace(FLAT, name=_TEXT["plotly"], gas_source=_TEXT["strong"], coin="$x$"),
)
_TEXTS: Final = [each.text for each in HOSTILE_TEXTS]
_FIRST: Final = 0xB0


def hostile_hash(number: int) -> TxHash:
    """Return the hash of the transaction whose every text is the one of this number."""
    return TxHash(bytes([_FIRST, number]) * 16)


def seed_hostile_texts(folder: Path) -> Store:
    """Make a store in the folder, and let others write into it."""
    now = utc_now()
    store = seed(folder, now)
    with store.write() as connection:
        _observe(connection, _TEXTS, now)
        for number, text in enumerate(_TEXTS):
            _transaction(connection, number, text, now - timedelta(minutes=number + 1))
            _silence(connection, number, text, now)
        note_heartbeat_trouble(connection, _TEXT["image"])
    _people(store, _TEXTS, now)
    night = Night(name=_TEXT["image"], note=_TEXT["link"], refusal=_TEXT["picture"])
    seed_incidents(store, now, night)
    with store.write() as connection:
        assert acquire(connection, "worker", _TEXT["attribute"], timedelta(hours=1)) is not None
    return store


def hostile_configuration() -> ConfigurationState:
    """Let every setting have a hostile name, value and source."""
    settings = [
        ShownSetting(text, text, text, is_default=False, default=text, meaning=text)
        for text in _TEXTS
    ]
    changes = tuple(SettingChange(text, text, text) for text in _TEXTS[::2])
    return ConfigurationState(tuple(settings), _TEXTS[0], utc_now(), changes, tuple(_TEXTS[1::2]))


def _people(store: Store, texts: Sequence[str], now: datetime) -> None:
    """Let an issuer vouch for people with such names, on such devices, from such addresses."""
    policy = SignInPolicy(timedelta(hours=1), timedelta(days=1))
    settings = PageSettings(sign_in=policy)
    people = People(ApplicationContext(store, (), lambda: now, settings=settings), CHEAP_HASHER)
    for number, text in enumerate(texts):
        issuer = Issuer("x", "x", text, "x", Secret(""), "openid", "groups", {"*": Role.ADMIN})
        identity = Identity(issuer, str(number), text, frozenset("*"), text)
        people.sign_in_by(identity, Device(text, text[:64]))


def _observe(connection: Connection, texts: Sequence[str], now: datetime) -> None:
    """Let the gas API send words of its own, and let every question fail with another text."""
    seen = suggested_gas_fees(priority_fee_trend=_TEXT["link"], base_fee_trend=_TEXT["image"])
    for network in HOSTILE_NETWORKS:
        save_gas(connection, GasObservation(network.network_id, now, seen))
    silent = HOSTILE_NETWORKS[1].network_id
    for operation, text in zip(Operation, texts, strict=False):
        failure = Failure(FailureKind.UNAVAILABLE, text)
        note_failure(connection, silent, now - timedelta(minutes=9), (operation, failure))


def _transaction(connection: Connection, number: int, text: str, at: datetime) -> None:
    """Let nodes reject a transaction for this reason, of a sender and with a label and a note."""
    network = HOSTILE_NETWORKS[number % len(HOSTILE_NETWORKS)].network_id
    sender, of_one = Address(bytes([_FIRST + number]) * 20), hostile_hash(number)
    request = TrackRequest(of_one, (network,), Remarks(label=text[:80], note=text[:300]))
    track(connection, request, at)
    record = a_record(tx_hash=of_one, sender=sender, reason_message=text, timestamp=at, added=text)
    subject = Subject.transaction(network, of_one)
    tell_rejection(connection, record, a_transition(700 + number, subject=subject, at=at), at)
    claim = StatusClaim(text, of_one, None, text)
    beside = (ExclusionAnswer(of_one, record, endpoint="first"),)
    said = ExclusionAnswer(of_one, claim=claim, endpoint="second", beside=beside)
    record_statements(connection, network, at, [said])
    watch_sender(connection, WatchedSender(sender, (network,), at, text[:80]))


def _silence(connection: Connection, number: int, text: str, now: datetime) -> None:
    kind = list(SilenceKind)[number % 2]
    matchers = (Matcher(MatchedProperty.LABEL, text[:80]),)
    wish = SilenceRequest(
        UUID(int=800 + number), kind, matchers, now, now + timedelta(days=1), text[:300]
    )
    add_silence(connection, wish, Actor(text[:60], now))


def fail_in_hostile_words(store: Store, hashes: tuple[TxHash, ...], _: object) -> None:
    """Answer no question, and say why in hostile words."""
    failure = Failure(FailureKind.UNAVAILABLE, _TEXT["link"])
    with store.write() as connection:
        answers = [ExclusionAnswer(each, failure=failure) for each in hashes]
        record_lookup(connection, HOSTILE_NETWORKS[0].network_id, utc_now(), answers)
