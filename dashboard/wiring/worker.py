"""The worker role: poll every network, detect changes, and deliver notifications."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
from contextlib import closing, suppress
from typing import Final
from uuid import uuid4

from dashboard.alert.side_tasks import DeliveryRounds
from dashboard.poll.clocks import Clocks
from dashboard.poll.gas import GasPeriods
from dashboard.poll.gas_from_node import GasFromNode
from dashboard.poll.jobs import Periods, PollingWorker, WatchedNetwork
from dashboard.poll.lease import Lease
from dashboard.poll.next_check import CadencePolicy
from dashboard.poll.peer_certificates import PeerCertificates
from dashboard.poll.worker_loop import run_polling_worker
from dashboard.settings import Settings
from dashboard.settings.tls import own_authorities, take_seen_certificates
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import WORKER_LEASE
from dashboard.wiring.clients import Clients, open_clients
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.condition_rules import condition_rules
from dashboard.wiring.networks import Network, gas_periods, networks_of
from dashboard.wiring.notifier import network_names, open_notifier
from dashboard.wiring.side_tasks import side_tasks
from dashboard.wiring.store import open_role_store
from dashboard.wiring.tls_servers import tls_servers

_M_ARENA_MAX: Final = -8
"""As malloc.h of glibc has it."""


async def run_worker(settings: Settings, stop: asyncio.Event) -> None:
    """Work, or stand by while another worker does, until `stop`."""
    _share_memory_pools()
    networks = networks_of(settings)
    with closing(open_role_store(settings)) as store:
        async with open_clients(settings) as clients:
            watched = [_watched(network, clients, settings) for network in networks]
            watcher = PollingWorker(
                store=store,
                lease=Lease(
                    store, WORKER_LEASE, _name_of_this_process(), settings.worker.lease, elapsed
                ),
                networks=watched,
                delivery=_delivery(settings, store, networks),
                periods=_periods(settings),
                cadence=CadencePolicy(shortest_interval=settings.poll.shortest_interval),
                clocks=Clocks(utc_now, elapsed),
                new_id=uuid4,
                rules=condition_rules(settings),
                retention=settings.store.retention,
                low_space=settings.store.low_space,
                certificates=own_authorities(settings.tls),
                peers=PeerCertificates(tls_servers(settings), take_seen_certificates),
            )
            await run_polling_worker(watcher, stop)


def _share_memory_pools() -> None:
    """Let all threads share two pools of memory, where the C library is glibc.

    By default threads have pools of their own, each of which keeps what the largest message took:
    after a storm a worker was some 15 MB larger. Only one thread runs Python at a time.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _watched(network: Network, clients: Clients, settings: Settings) -> WatchedNetwork:
    follower = clients.follower(network, settings.fees)
    return WatchedNetwork(
        network.network_id,
        gas=clients.gas(network),
        exclusion=clients.exclusion(network),
        inclusion=clients.inclusion(network),
        block_time=network.endpoints.block_time,
        gas_from_node=None
        if follower is None
        else GasFromNode(follower, Clocks(utc_now, elapsed), network.endpoints.stalls_after),
        gas_periods=gas_periods(network, settings),
        meter=clients.meters[network.network_id],
    )


def _periods(settings: Settings) -> Periods:
    poll = settings.poll
    return Periods(
        gas=GasPeriods(poll.gas_period, poll.history_period, poll.threshold_period),
        exclusion=poll.exclusion_tick,
    )


def _delivery(settings: Settings, store: Store, networks: tuple[Network, ...]) -> DeliveryRounds:
    notifier = open_notifier(settings, store, networks)
    return DeliveryRounds(notifier, side_tasks(settings, store, network_names(networks)))


def _name_of_this_process() -> str:
    """Return a name that no other process ever has."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid4()}"
