"""A month of up to twelve networks as a team watches them: cheap, dear, flat, stale, failing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final
from uuid import UUID

import numpy as np

from dashboard.application.network_status import NetworkProfile
from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.fees.busy_spells import JudgedValue, Spell, spells_of
from dashboard.domain.fees.gas import FeeSeries, FeeSuggestion, GasObservation, SuggestedGasFees
from dashboard.domain.health.coverage import CoverageChange, Covered, Watched
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.quantity import Address, NetworkId, TxHash, Wei
from dashboard.domain.rejections.exclusion import WIRE_STAGES, RejectedTransaction
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.busy_window import save_spell
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.fees.save import save_gas
from dashboard.store.monitoring.coverage import save_coverage
from tests.builders import GWEI
from tests.saved_record import save_record


@dataclass(frozen=True)
class PlayedNetwork:
    """A network of the pictures: its usual base fee in gwei, and how many rejections it has."""

    name: str
    usual: float
    rejections: int = 0
    coin: str = "ETH"


PLAYED: Final = (
    PlayedNetwork("Linea", 0.5, rejections=24),
    PlayedNetwork("Ethereum", 18),
    PlayedNetwork("Arbitrum One", 0.02),
    PlayedNetwork("Base", 0.01),
    PlayedNetwork("Optimism", 0.012),
    PlayedNetwork("Polygon", 60, coin="POL"),
    PlayedNetwork("Scroll", 0.4, rejections=7),
    PlayedNetwork("zkSync Era", 0.05),
    PlayedNetwork("Mantle", 0.03),
    PlayedNetwork("Blast", 0.015),
    PlayedNetwork("Gnosis", 2),
    PlayedNetwork("Linea Sepolia", 0, rejections=5),
)
STALE: Final = "Mantle"
FAILING: Final = "Blast"
_UNANSWERED: Final = {STALE: timedelta(minutes=9), FAILING: timedelta(minutes=130)}
FLAT_FEE: Final = Wei(7)
PERIOD: Final = timedelta(seconds=12)
_MINUTE: Final = 60_000
_POLLED: Final = timedelta(minutes=70)
_PAST: Final = timedelta(days=31)
_ABOVE: Final = 1.35
"""The threshold of busyness, as a multiple of the usual fee."""

_MODULES: Final = ("ADD", "HUB", "PRECOMPILE_ECPAIRING_MILLER_LOOPS", "MOD", "BLOCK_KECCAK")


def profiles(count: int) -> tuple[NetworkProfile, ...]:
    """Return the first so many networks."""
    return tuple(_profile(number, each) for number, each in enumerate(PLAYED[:count]))


def _profile(number: int, played: PlayedNetwork) -> NetworkProfile:
    return NetworkProfile(
        NetworkId(1000 + number),
        played.name,
        is_simulated=False,
        gas_period=PERIOD,
        threshold_period=timedelta(minutes=15),
        has_exclusion=played.rejections > 0,
        coin=played.coin,
        coin_price=CoinPrice(3_150_000_000, "USD") if number % 3 == 0 else None,
        block_time=PERIOD,
    )


def seed_networks(store: Store, networks: tuple[NetworkProfile, ...], now: datetime) -> None:
    """Fill a store with a month of these networks, seen until now."""
    for profile, played in zip(networks, PLAYED, strict=False):
        ended = now - _UNANSWERED.get(played.name, timedelta())
        with store.write() as connection:
            _import_past(connection, profile.network_id, played, ended)
            _poll(connection, profile.network_id, played, ended)
            _spells(connection, profile.network_id, played, now, ended)
            if played.name == FAILING:
                _fail(connection, profile.network_id, ended)
            _watch(connection, profile.network_id, Watched.FEES, now)
            if played.rejections:
                _watch(connection, profile.network_id, Watched.REJECTIONS, now)
                _reject(connection, profile.network_id, played.rejections, now)


def base_fee(played: PlayedNetwork, milliseconds: float) -> Wei:
    """Return the base fee of a moment: waves of a day, of some hours, of half an hour."""
    hours, phase = milliseconds / 3.6e6, len(played.name)
    waves = (
        0.35 * math.sin(hours / 24 * 2 * math.pi + phase)
        + 0.25 * math.sin(hours * 1.7 + phase)
        + 0.12 * math.sin(hours * 11)
    )
    return Wei(int(played.usual * (1 + waves) * GWEI)) or FLAT_FEE


def _threshold(played: PlayedNetwork) -> Wei:
    return Wei(int(played.usual * _ABOVE * GWEI)) or FLAT_FEE


def _import_past(
    connection: Connection, network: NetworkId, played: PlayedNetwork, ended: datetime
) -> None:
    """Bring what was before the polls that are played, minute by minute."""
    first, last = (int((ended - ago).timestamp() * 1000) for ago in (_PAST, _POLLED))
    moments = np.arange(first, last, _MINUTE, dtype=np.int64)
    fees = np.array([base_fee(played, float(each)) for each in moments], dtype=np.int64)
    threshold = np.full(len(moments[::15]), _threshold(played), dtype=np.int64)
    tips = fees // 8 if played.usual else 40_000_000 + (moments // _MINUTE) % 97 * 100_000
    for series, at, values in (
        (FeeSeries.ESTIMATED_BASE_FEE, moments, fees),
        (FeeSeries.MEDIUM_MAX_PRIORITY_FEE, moments, tips),
        (FeeSeries.BUSY_THRESHOLD, moments[::15], threshold),
        (FeeSeries.BASE_FEE_PERCENTILE, moments[::15], np.maximum(threshold * 3 // 4, 7)),
    ):
        import_fee_years(connection, network, series, at, values)


def _poll(
    connection: Connection, network: NetworkId, played: PlayedNetwork, ended: datetime
) -> None:
    threshold = _threshold(played)
    for back in range(_POLLED // PERIOD, -1, -1):
        at = ended - back * PERIOD
        marks = (Wei(threshold * 3 // 4), threshold) if back % 75 == 0 else (None, None)
        save_gas(connection, GasObservation(network, at, _suggestion(played, at), None, *marks))


def _suggestion(played: PlayedNetwork, at: datetime) -> SuggestedGasFees:
    milliseconds = at.timestamp() * 1000
    fee = base_fee(played, milliseconds)
    tip = fee // 8 if played.usual else 40_000_000 + int(9e6 * math.sin(milliseconds / 4e5))
    low, medium, high = (
        FeeSuggestion(
            Wei(tip * share // 10),
            Wei(fee * (100 + share) // 100 + tip * share // 10),
            timedelta(0),
            timedelta(seconds=60 - 4 * share),
        )
        for share in (8, 10, 14)
    )
    congestion = 0.4 + 0.4 * math.sin(milliseconds / 1e6 + len(played.name))
    ranges = (Wei(1), Wei(2))
    return SuggestedGasFees(
        low, medium, high, fee, congestion, ranges, ranges, ranges, "level", "up"
    )


def _spells(
    connection: Connection,
    network: NetworkId,
    played: PlayedNetwork,
    now: datetime,
    ended: datetime,
) -> None:
    """Let the network have been busy once a day, and in the last day as its fee says."""
    chance, subject = Random(network), Subject(SubjectKind.BUSYNESS, network)  # noqa: S311 - no secret
    changes: list[tuple[State, datetime]] = []
    for days in range(20, 1, -1):
        begun = now - timedelta(days=days, minutes=chance.randint(-60, 60))
        over = begun + timedelta(minutes=chance.randint(2, 40))
        changes += [(State.BUSY, begun), (State.CALM, over)]
    for each in _last_day(played, ended):
        changes.append((State.BUSY, each.begins_at))
        changes += [] if each.ends_at is None else [(State.CALM, each.ends_at)]
    before = None
    for number, (after, at) in enumerate(changes):
        news = Transition(UUID(int=network * 1000 + number), subject, before, after, at)
        assert record_transition(connection, news, None)
        save_spell(connection, news)
        before = after


def _last_day(played: PlayedNetwork, ended: datetime) -> list[Spell]:
    """Return the spells of a fee that is looked at each minute."""
    moments = (ended - timedelta(minutes=back) for back in range(24 * 60, -1, -1))
    values = (
        JudgedValue(each, base_fee(played, each.timestamp() * 1000) > _threshold(played))
        for each in moments
    )
    return spells_of(values, ConditionRules().busy, timedelta(minutes=2))


def _fail(connection: Connection, network: NetworkId, at: datetime) -> None:
    failure = Failure(FailureKind.UNAVAILABLE, "The gas endpoint gave no answer within 5 s.")
    failures = ((Operation.SUGGESTED_GAS_FEES, failure),)
    save_gas(connection, GasObservation(network, at, failures=failures))


def _watch(connection: Connection, network: NetworkId, watched: Watched, now: datetime) -> None:
    held = Covered(network, watched, now - timedelta(days=60), now + timedelta(days=1))
    save_coverage(connection, None, CoverageChange(held))


def rejected_hash(network: NetworkId, number: int) -> TxHash:
    """Return the hash of a rejected transaction; each was rejected twice."""
    return TxHash(bytes([number + 1, network % 200]) * 16)


def _reject(connection: Connection, network: NetworkId, count: int, now: datetime) -> None:
    chance = Random(network)  # noqa: S311 - no secret
    for number in range(count):
        at = now - timedelta(minutes=11 * number, seconds=7 + chance.randint(0, 400))
        lines = 524_288 + chance.randint(1, 900_000)
        module = chance.choice(_MODULES)
        record = RejectedTransaction(
            rejected_hash(network, number // 2),
            Address(bytes([number % 9 + 1]) * 20),
            number,
            chance.choice(WIRE_STAGES),
            f"Transaction line count for module {module}={lines} is above the limit 524288",
            at,
            None,
        )
        save_record(connection, network, record, at)
