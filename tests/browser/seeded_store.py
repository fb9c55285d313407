"""A store with a story to look at: a fresh network, a silent one, rejections of every kind."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from msgspec.structs import replace

from dashboard.application.network_status import NetworkProfile
from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.fees.busy_spells import JudgedValue, longest_pause, spells_of
from dashboard.domain.fees.gas import FeeSeries, FeeSuggestion, GasObservation, SuggestedGasFees
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.quantity import Address, NetworkId, TxHash, Wei
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.busy_window import save_spells
from dashboard.store.fees.save import save_gas
from dashboard.store.fees.series import FeePercentiles, integers
from dashboard.store.fees.stored_fees import SeriesKey, fee_values
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.schema.columns import moment_of
from dashboard.store.tracking.follow_ups import record_inclusion_answers
from dashboard.store.tracking.transactions import track
from dashboard.wiring import clock
from tests.databases import new_sqlite_store, put_file
from tests.saved_record import save_record

UNWATCHED: Final = (timedelta(minutes=30), timedelta(minutes=25))
"""Between these ages nobody asked for the fees of the first network."""

SIMULATED: Final = NetworkProfile(
    NetworkId(424242),
    "Devnet",
    is_simulated=True,
    gas_period=timedelta(seconds=20),
    threshold_period=timedelta(hours=1),
    gas_source="this installation's own serve",
    sees_all_reports=True,
)

SILENT: Final = NetworkProfile(
    NetworkId(59144),
    "Linea",
    is_simulated=False,
    gas_period=timedelta(seconds=20),
    threshold_period=timedelta(minutes=15),
)
FLAT: Final = dataclasses.replace(
    SILENT,
    network_id=NetworkId(59141),
    name="Linea Sepolia",
    gas_period=timedelta(minutes=10),  # its figures stay fresh however long the tests take
)
HOSTILE: Final = (
    "<img src=https://outside.invalid/a onerror=\"document.title='owned'\">"
    "<script>document.title='owned'</script> **bold** [link](https://outside.invalid) $x^2$ "
    "![picture](https://outside.invalid/b.png) :red[red] {{7*7}} \u202egnp.exe\r\nBcc: x =1+1"
)
LONG_MODULE: Final = "PRECOMPILE_ECPAIRING_MILLER_LOOPS"
REASONS: Final = (
    (RejectionStage.SEQUENCER, "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)"),
    (RejectionStage.RPC, "Transaction line count for module HUB=2402 is above the limit 70"),
    (RejectionStage.P2P, HOSTILE),
    (RejectionStage.RPC, f"Transaction line count for module {LONG_MODULE}=6 is above the limit 0"),
    (RejectionStage.SEQUENCER, "TX_MODULE_LINE_COUNT_OVERFLOW_CACHED"),
)


def tx_hash(number: int) -> TxHash:
    """Return the hash that consists of one repeated byte."""
    return TxHash(bytes([number]) * 32)


More: TypeAlias = Callable[[Store, datetime], None]
"""Lets more have happened until a moment, in a store that holds what `seed` tells."""


def seed(folder: Path, now: datetime, *more: More) -> Store:
    """Make a store in the folder and fill it with what was seen until now, and with more."""
    return open_store(put_file(folder / "linewatch.sqlite", _seeded_file(now, more)))


@cache
def _seeded_file(now: datetime, more: tuple[More, ...]) -> bytes:
    """Fill a store once for all tests of a process."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "linewatch.sqlite"
        with open_store(new_sqlite_store(file)) as store:
            for fill in (_fill, *more):
                fill(store, now)
        return file.read_bytes()


def _fill(store: Store, now: datetime) -> None:
    with store.write() as connection:
        _watch(connection, now)
        for observation in _observations(now):
            save_gas(connection, observation)
        for card in (SIMULATED, SILENT):
            _save_seen_spells(connection, card.network_id, card.gas_period)
        for age, (number, (stage, reason)) in enumerate(enumerate(REASONS, start=1)):
            _reject(connection, _record(number, stage, reason, now - timedelta(minutes=7 * age)))
        _reject(connection, _record(2, *REASONS[4], now - timedelta(hours=3)))
        _answer(
            connection,
            SILENT.network_id,
            tx_hash(2),
            now,
            Failure(
                FailureKind.UNAVAILABLE, "The Linea exclusion endpoint gave no answer within 5 s."
            ),
        )
        for number in (2, 9):
            request = TrackRequest(
                tx_hash(number), (SIMULATED.network_id,), Remarks(label="Case 1742")
            )
            track(connection, request, now)
        _answer(connection, SIMULATED.network_id, tx_hash(9), now)
        for ago in (20, 5):
            _follow_up(connection, now - timedelta(minutes=ago))


def _watch(connection: Connection, now: datetime) -> None:
    """Watch rejections since long ago, and for as long as tests take; of fees five minutes less."""
    since, until = now - timedelta(days=60), now + timedelta(days=1)
    network_id, begins_at, ends_at = SIMULATED.network_id, *(now - each for each in UNWATCHED)
    missed = Gap(network_id, Watched.FEES, begins_at, ends_at, GapCause.NOT_WATCHED)
    held = Covered(network_id, Watched.FEES, since, until)
    save_coverage(connection, None, CoverageChange(held, (missed,)))
    for card in (SIMULATED, SILENT, FLAT):
        held = Covered(card.network_id, Watched.REJECTIONS, since, until)
        save_coverage(connection, None, CoverageChange(held))


def _follow_up(connection: Connection, at: datetime) -> None:
    """Let the node tell that one rejected transaction was included and another one replaced."""
    included = Inclusion(21_044, bytes(32), is_successful=True)
    answers = (
        InclusionAnswer(tx_hash(4), included, next_nonce=5),
        InclusionAnswer(tx_hash(5), next_nonce=6),
    )
    questions = [InclusionQuestion(each.tx_hash, nonce=each.tx_hash[0]) for each in answers]
    told = zip(questions, answers, strict=True)
    record_inclusion_answers(connection, SIMULATED.network_id, at, told)


def _observations(now: datetime) -> Iterator[GasObservation]:
    for seconds in range(3600, -1, -20):
        if not UNWATCHED[1] < timedelta(seconds=seconds) < UNWATCHED[0]:
            yield _observation(SIMULATED.network_id, now - timedelta(seconds=seconds), seconds)
    last_words = now - timedelta(minutes=6)
    for seconds in range(900, -1, -20):
        yield _observation(SILENT.network_id, last_words - timedelta(seconds=seconds), seconds)
    for seconds in range(1200, -1, -20):
        yield _flat_observation(now - timedelta(seconds=seconds), seconds)
    failure = Failure(FailureKind.UNAVAILABLE, "The Linea gas endpoint gave no answer within 5 s.")
    failures = ((Operation.SUGGESTED_GAS_FEES, failure),)
    at = last_words + timedelta(seconds=20)
    yield GasObservation(SILENT.network_id, at, failures=failures)


def _observation(network_id: NetworkId, at: datetime, seconds: int) -> GasObservation:
    gwei = 9 + 4 * math.sin(seconds / 410 + 1.3) + 1.2 * math.sin(seconds / 83)
    return GasObservation(
        network_id,
        at,
        _fees(Wei(int(gwei * 10**9))),
        base_fee_percentile=Wei(8_250_000_000),
        busy_threshold=Wei(11_400_000_000),
    )


def _flat_observation(at: datetime, seconds: int) -> GasObservation:
    """See a base fee that never moves, and priority fees that do."""
    fee = Wei(7)
    priority_fee = Wei(40_000_000 + int(10_000_000 * math.cos(seconds / 300)))
    medium = FeeSuggestion(priority_fee, priority_fee, timedelta(0), timedelta(seconds=12))
    fees = replace(_fees(fee), medium=medium)
    return GasObservation(FLAT.network_id, at, fees, base_fee_percentile=fee, busy_threshold=fee)


def _fees(base_fee: Wei) -> SuggestedGasFees:
    level = FeeSuggestion(Wei(10**8), Wei(2 * base_fee), timedelta(0), timedelta(seconds=12))
    return SuggestedGasFees(
        low=level,
        medium=level,
        high=level,
        estimated_base_fee=base_fee,
        network_congestion=0.64,
        latest_priority_fee_range=(Wei(1), Wei(2)),
        historical_priority_fee_range=(Wei(1), Wei(2)),
        historical_base_fee_range=(Wei(1), Wei(2)),
        priority_fee_trend="level",
        base_fee_trend="up",
    )


def _record(number: int, stage: RejectionStage, reason: str, at: datetime) -> RejectedTransaction:
    sender = Address(bytes([number]) * 20)
    block = 21_000 + number if stage is RejectionStage.SEQUENCER else None
    return RejectedTransaction(tx_hash(number), sender, number, stage, reason, at, block)


def _reject(connection: Connection, record: RejectedTransaction) -> None:
    assert record.timestamp is not None
    save_record(connection, SIMULATED.network_id, record, record.timestamp)
    _answer(connection, SIMULATED.network_id, record.tx_hash, record.timestamp)


def _answer(
    connection: Connection,
    network_id: NetworkId,
    asked: TxHash,
    at: datetime,
    failure: Failure | None = None,
) -> None:
    record_lookup(connection, network_id, at, [ExclusionAnswer(asked, failure=failure)])


def utc_now() -> datetime:
    """Return the time of day, for servers that a browser looks at; cut as the product cuts it."""
    return clock.utc_now()


_EVER = (0, 2**60)


def _save_seen_spells(connection: Connection, network_id: NetworkId, period: timedelta) -> None:
    """Save the spells that polled base fees make beside the thresholds that held then."""
    fees = [
        each
        for each in fee_values(
            connection, SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE), *_EVER
        )
        if not each.is_estimated
    ]
    asked = fee_values(connection, SeriesKey(network_id, FeeSeries.BUSY_THRESHOLD), *_EVER)
    thresholds = FeePercentiles.of(asked).at(integers(each.at for each in fees))
    if thresholds is None:
        return
    values = (
        JudgedValue(moment_of(each.at), each.fee > threshold)
        for each, threshold in zip(fees, thresholds.tolist(), strict=True)
    )
    spells = spells_of(values, ConditionRules().busy, longest_pause(period))
    save_spells(connection, network_id, spells)
