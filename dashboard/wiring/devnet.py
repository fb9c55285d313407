"""The devnet role: the simulated chain, its nodes' reports, and the demo history."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, TypeVar

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from dashboard.devnet.chain import Chain
from dashboard.devnet.demo import DemoFeeHistory, DemoReports
from dashboard.devnet.genesis import DEVNET, DEVNET_ID, SIMULATED, SimulatedNetwork, open_genesis
from dashboard.devnet.methods import build_app
from dashboard.devnet.traffic import TrackTransaction, TrafficRunner
from dashboard.domain.fees.busy_spells import HoldPeriods
from dashboard.domain.health.coverage import Watched
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import LocatedReport, RejectionSource, SaveStatus
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import InputError, SettingsError
from dashboard.serve.server import within_descriptors
from dashboard.settings import Settings
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import save_reports
from dashboard.store.fees.busy_window import save_spells
from dashboard.store.fees.import_history import (
    first_observed_at,
    import_fee_years,
    import_gas_history,
    other_networks,
)
from dashboard.store.monitoring.coverage import watch_earlier
from dashboard.store.tracking.transactions import track
from dashboard.transport.connection_limits import ConnectionLimiter
from dashboard.transport.host_check import HostCheck
from dashboard.transport.http_connection import limited_http
from dashboard.wiring.clients import open_clients
from dashboard.wiring.clock import utc_now
from dashboard.wiring.http import allowed_hosts, connection_limits, run_http
from dashboard.wiring.networks import condition_rules, networks_of
from dashboard.wiring.store import migrate_store, open_checked_store, open_role_store


async def run_devnet(
    settings: Settings, stop: asyncio.Event, listener: socket.socket | None = None
) -> None:
    """Run the chain until `stop`; it goes on from its stored genesis at the next start."""
    network = next((each for each in networks_of(settings) if each.is_simulated), None)
    if network is None:
        raise SettingsError("devnet.mode is off, or networks are configured: set it to on")
    folder = settings.home / "devnet"
    chain = Chain(open_genesis(folder, settings.devnet.seed, utc_now))
    with closing(open_role_store(settings)) as store:
        async with open_clients(settings, attempts=1) as clients:
            [serve] = clients.exclusions(network).values()
            traffic_runner = TrafficRunner(chain, serve, _tracker(store), utc_now)
            app = HostCheck(build_app(chain, utc_now), allowed_hosts(settings))
            chain.block(chain.head(utc_now()))  # catches up before the first request
            async with _reporting(traffic_runner, stop):
                config = _config(app, settings)
                await run_http(config, stop, "LINEWATCH_DEVNET_PORT", listener=listener)


@asynccontextmanager
async def _reporting(traffic_runner: TrafficRunner, stop: asyncio.Event) -> AsyncIterator[None]:
    """Run the traffic meanwhile; if it fails, the role ends with its error."""
    running = asyncio.create_task(traffic_runner.run())
    running.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def _config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    limits = within_descriptors(connection_limits(settings.serve))
    return uvicorn.Config(
        app,
        host=settings.devnet.host,
        port=settings.devnet.port,
        http=limited_http(ConnectionLimiter(limits)),
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )


def _tracker(store: Store) -> TrackTransaction:
    """Return what tracks a sample of the simulated transactions."""

    def track_sample(tx_hash: TxHash, attempted_at: datetime, label: str) -> None:
        request = TrackRequest(tx_hash, (DEVNET_ID,), Remarks(attempted_at, label))
        with store.write() as connection:
            track(connection, request, utc_now())

    return track_sample


T = TypeVar("T")

_OBSERVATIONS_AT_A_TIME: Final = 1000
_REPORTS_AT_A_TIME: Final = 200


class FilledHistory(Struct, frozen=True):
    """What was put into which store: the networks, and how many values of fees.

    `rejections` counts the new ones only.
    """

    store: str
    networks: Sequence[SimulatedNetwork]
    fees: int
    rejections: int


class _HistorySpan(Struct, frozen=True):
    """The simulated time: `length` until a moment, drawn from a seed."""

    seed: int
    until: datetime
    length: timedelta


def fill_with_history(
    settings: Settings, length: timedelta, *, is_store_named: bool
) -> FilledHistory:
    """Fill the store with the time before the devnet's first observation; repeating adds nothing.

    InputError if nothing would say that it is simulated, or if the store holds data of other
    networks and nobody named it. Transactions are short, so that a worker goes on.
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
