"""The demo history: a simulated year in the store of simulated networks, to try the pages on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, TypeVar

from dashboard.devnet.demo_fee_history import DemoFeeHistory
from dashboard.devnet.demo_reports import DemoReports
from dashboard.devnet.networks import DEVNET, SIMULATED, SimulatedNetwork
from dashboard.domain.coverage import Watched
from dashboard.domain.exclusion import RejectionSource, SaveStatus
from dashboard.domain.spells import HoldPeriods
from dashboard.errors import InputError
from dashboard.settings import Settings
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.save_rejections import save_reports
from dashboard.store.fees.busy_spells import save_spells
from dashboard.store.fees.import_history import (
    first_observed_at,
    import_fee_years,
    import_gas_history,
    other_networks,
)
from dashboard.store.monitoring.coverage import watch_earlier
from dashboard.store.rejections.save import LocatedReport
from dashboard.wiring.clock import utc_now
from dashboard.wiring.condition_rules import condition_rules
from dashboard.wiring.migration import migrate_store
from dashboard.wiring.store import open_checked_store

T = TypeVar("T")

_OBSERVATIONS_AT_A_TIME: Final = 1000
_REPORTS_AT_A_TIME: Final = 200


@dataclass(frozen=True, slots=True)
class FilledHistory:
    """What was put into which store: the networks, and how many values of fees.

    `rejections` counts the new ones only.
    """

    store: str
    networks: Sequence[SimulatedNetwork]
    fees: int
    rejections: int


@dataclass(frozen=True, slots=True)
class _HistorySpan:
    """The simulated time: `length` until a moment, drawn from a seed."""

    seed: int
    until: datetime
    length: timedelta


def fill_with_history(
    settings: Settings, length: timedelta, *, is_store_named: bool
) -> FilledHistory:
    """Fill the store with the time before the devnet's first observation; repeating adds nothing.

    InputError where nothing would say that it is simulated, or where the store holds data of
    other networks and nobody named it. Transactions are short, so that a worker goes on.
    """
    if not settings.has_devnet:
        raise InputError(
            "the simulated network is off, so nothing would mark its history as simulated: "
            "set devnet.mode to on, or use a state folder without networks of your own"
        )
    networks = SIMULATED[: settings.devnet.networks]
    migrate_store(settings)
    with closing(open_checked_store(settings)) as store:
        until = _end_of_history(store, is_store_named=is_store_named)
        past = _HistorySpan(settings.devnet.seed, until, length)
        holds = condition_rules(settings).busy
        fees = sum(_fill_fees(store, past, network, holds) for network in networks)
        ids = [each.network_id for each in networks]
        with store.write() as connection:
            watch_earlier(connection, [DEVNET.network_id], until - length, until)
            watch_earlier(connection, ids, until - length, until, (Watched.FEES,))
        return FilledHistory(store.name, networks, fees, _fill_rejections(store, past))


def _end_of_history(store: Store, *, is_store_named: bool) -> datetime:
    with store.read() as connection:
        others = other_networks(connection, [each.network_id for each in SIMULATED])
        until = first_observed_at(connection, DEVNET.network_id) or utc_now()
    if others and not is_store_named:
        raise InputError(
            f"{store.name} holds data of another network ({others[0]}): choose an empty "
            "folder with --into, or name this one with it to mix them"
        )
    return until


def _fill_fees(
    store: Store, past: _HistorySpan, network: SimulatedNetwork, holds: HoldPeriods
) -> int:
    history = DemoFeeHistory(past.seed, past.until, past.length, network)
    count = 0
    for days in history.days():
        with store.write() as connection:
            import_fee_years(connection, network.network_id, days.series, days.at, days.fees)
        count += len(days.at)
    for some in _batches(history.observations(), _OBSERVATIONS_AT_A_TIME):
        with store.write() as connection:
            import_gas_history(connection, some)
        count += len(some)
    with store.write() as connection:
        save_spells(connection, network.network_id, history.spells(holds))
    return count


def _fill_rejections(store: Store, past: _HistorySpan) -> int:
    count = 0
    reports = DemoReports(past.seed, past.until, past.length)
    for some in _batches(reports.reports(), _REPORTS_AT_A_TIME):
        located = [LocatedReport(each.report, DEVNET.network_id, each.at) for each in some]
        with store.write() as connection:
            saved = save_reports(connection, located, past.until, RejectionSource.DEMO_HISTORY)
        count += saved.count(SaveStatus.SAVED)
    return count


def _batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some
