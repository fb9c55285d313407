"""The networks of an installation, with the clients that ask their endpoints."""

from __future__ import annotations

import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec

from dashboard.devnet.chain import BLOCK_SECONDS, DEVNET_ID
from dashboard.devnet.networks import SIMULATED
from dashboard.devnet.rejection_scripts import LIMITS as SIMULATED_LIMITS
from dashboard.domain.fees import FeePolicy, LevelPolicy
from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.secret import Secret
from dashboard.poll.cost import CREDITS_PER_CALL
from dashboard.poll.gas import GasPeriods
from dashboard.poll.inclusion import InclusionAsker
from dashboard.settings import EndpointSettings, NetworkSettings, Settings
from dashboard.settings.fees import FeeSettings, LevelSettings, fees_of
from dashboard.settings.module_limits import limits_of
from dashboard.settings.schema import PollSettings
from dashboard.settings.tls import tls_context
from dashboard.settings.values import Duration
from dashboard.upstream.blocks import ChainFollower, FollowPolicy
from dashboard.upstream.endpoint import Asker, Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.failover import FailoverFollower
from dashboard.upstream.gas import BasicKey, Credentials, GasClient, PathKey
from dashboard.upstream.http import HttpAsker, HttpClient, open_client
from dashboard.upstream.inclusion import FirstThatAnswers, InclusionClient
from dashboard.upstream.meter import Meter, Note, note_nothing
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_status import FailoverPolicy
from dashboard.upstream.request_retry import RetryPolicy
from dashboard.upstream.websocket import WebSocketAsker
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.rpc_address import forbidden_advice, key_advice, rpc_address


@dataclass(frozen=True, slots=True)
class Network:
    """One network: what people call it, and where it is asked.

    `own_serve` is where our own serve listens, whose answers cost nothing. `is_past`: it is not
    watched, and all that is known of it is a demo history.
    """

    network_id: NetworkId
    title: str
    endpoints: NetworkSettings
    is_simulated: bool = False
    own_serve: str = ""
    is_past: bool = False

    def fees(self, common: FeeSettings) -> FeeSettings:
        """Return the numbers behind its gas operations: its own, or those of all networks."""
        return fees_of(common, self.endpoints.fees)


def networks_of(settings: Settings) -> tuple[Network, ...]:
    """Return the watched networks, devnet first."""
    return tuple(_networks(settings))


def shown_networks(settings: Settings) -> tuple[Network, ...]:
    """Return what people are shown: the watched networks, then those that only have a past."""
    past = SIMULATED[1 : settings.devnet.networks] if settings.has_devnet else ()
    return networks_of(settings) + tuple(
        Network(
            each.network_id,
            each.title,
            NetworkSettings(network_id=each.network_id),
            is_simulated=True,
            is_past=True,
        )
        for each in past
    )


def _networks(settings: Settings) -> Iterator[Network]:
    own = _own_serve(settings)
    if settings.has_devnet:
        yield Network(
            DEVNET_ID, "devnet", _devnet_endpoints(settings), is_simulated=True, own_serve=own
        )
    for name, endpoints in settings.networks.items():
        network_id, title = NetworkId(endpoints.network_id), endpoints.title or name
        yield Network(network_id, title, _located(endpoints, settings), own_serve=own)


def _devnet_endpoints(settings: Settings) -> NetworkSettings:
    node = Secret(f"http://{_host(settings.devnet.host)}:{settings.devnet.port}")
    own = EndpointSettings(url=Secret(_own_serve(settings)), key=settings.devnet.key)
    return NetworkSettings(
        network_id=DEVNET_ID,
        exclusion=own,
        gas=own,
        node=EndpointSettings(url=node),
        block_time=Duration(seconds=BLOCK_SECONDS),
    )


def _located(network: NetworkSettings, settings: Settings) -> NetworkSettings:
    """Put the address of our own serve where it is meant."""
    address = Secret(_own_serve(settings))
    own = {
        role: msgspec.structs.replace(endpoint, url=address)
        for role in ("exclusion", "gas")
        if (endpoint := getattr(network, role)) is not None and endpoint.is_own_serve
    }
    return msgspec.structs.replace(network, **own)


def _own_serve(settings: Settings) -> str:
    return f"http://{_host(settings.serve.host)}:{settings.serve.port}"


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def sees_all_reports(network: Network, settings: Settings) -> bool:
    """Whether the network's nodes report to our own serve, which tells rejections of all hashes."""
    exclusion = network.endpoints.exclusion
    return exclusion is not None and is_own_serve(exclusion, settings)


def is_own_serve(endpoint: EndpointSettings, settings: Settings) -> bool:
    """Whether an endpoint is where our own serve listens."""
    return endpoint.url.reveal().rstrip("/") == _own_serve(settings)


def module_limits(network: Network) -> ModuleLimits | None:
    """Return the table that tells what reasons on this network leave out, if one is known."""
    if network.is_simulated:
        return ModuleLimits("devnet", "", "the simulated chain itself", SIMULATED_LIMITS)
    return limits_of(network.endpoints)


def gas_periods(network: Network, settings: Settings) -> GasPeriods:
    """Return how often the network's fees are asked for: its own periods, or those of all."""
    own, common = network.endpoints, settings.poll
    return GasPeriods(
        suggested_gas_fees=own.gas_period or common.gas_period,
        base_fee_history=own.history_period or common.history_period,
        thresholds=own.threshold_period or common.threshold_period,
    )


def fee_policy(network: Network, common: FeeSettings) -> FeePolicy:
    """Return how the network's gas operations are made."""
    fees = network.fees(common)
    smallest, largest = fees.range_percentiles
    return FeePolicy(
        low=_level(fees.low),
        medium=_level(fees.medium),
        high=_level(fees.high),
        range_percentiles=(smallest, largest),
        trend_percentile=fees.trend_percentile,
        recent_blocks=fees.recent_blocks,
        trend_blocks=fees.trend_blocks,
        historical_blocks=fees.historical_blocks,
        history_blocks=fees.history_blocks,
        usual_percentile=fees.usual_percentile,
        busy_percentile=fees.busy_percentile,
    )


def _level(level: LevelSettings) -> LevelPolicy:
    return LevelPolicy(
        level.reward_percentile,
        level.priority_fee_share,
        Wei(level.priority_fee_floor),
        level.base_fee_share,
        level.min_wait,
        level.max_wait,
    )


@asynccontextmanager
async def open_clients(settings: Settings, attempts: int = 3) -> AsyncIterator[Clients]:
    """Yield what makes the clients of all networks, with the HTTP client of the process."""
    trust = tls_context(settings.tls)
    async with open_client(trust) as http:
        yield Clients(http, settings.poll, attempts, trust)


@dataclass(frozen=True, slots=True)
class Clients:
    """Makes the clients of networks over one shared HTTP client; `attempts` at each question.

    `trust` is whose certificates are believed over WebSocket. All clients of a network count what
    they ask in its one meter.
    """

    http: HttpClient
    patience: PollSettings
    attempts: int = 3
    trust: ssl.SSLContext | None = None
    meters: defaultdict[NetworkId, Meter] = field(default_factory=lambda: defaultdict(Meter))

    def exclusion(self, network: Network) -> ExclusionClient | None:
        """Return the client of the exclusion endpoint, if there is one."""
        settings = network.endpoints.exclusion
        return None if settings is None else self._exclusion(network, settings)

    def other_transport(self, network: Network) -> tuple[ExclusionClient, str]:
        """Return a client for WebSocket where the exclusion endpoint has HTTP, or the reverse."""
        settings = network.endpoints.exclusion
        assert settings is not None  # noqa: S101 - asked only of networks that have it
        scheme, _, rest = settings.url.reveal().partition("://")
        other = {"http": "ws", "https": "wss", "ws": "http", "wss": "https"}.get(scheme, scheme)
        swapped = msgspec.structs.replace(settings, url=Secret(f"{other}://{rest}"))
        transport = "WebSocket" if other.startswith("ws") else "HTTP"
        return self._exclusion(network, swapped), transport

    def _exclusion(self, network: Network, settings: EndpointSettings) -> ExclusionClient:
        note = self._note(network, settings)
        asker = self._asker(f"{network.title} exclusion endpoint", settings, note)
        return ExclusionClient(asker, settings.method_prefix, self.patience.largest_batch)

    def gas(self, network: Network) -> GasClient | None:
        """Return the client of the gas endpoint, if there is one."""
        settings = network.endpoints.gas
        if settings is None:
            return None
        note = self._note(network, settings)
        endpoint = self._endpoint(f"{network.title} gas endpoint", settings.url, note)
        asker = HttpAsker(self.http, endpoint, self._policy())
        return GasClient(asker, network.network_id, _credentials(settings))

    def nodes(self, network: Network) -> tuple[NodeClient, ...]:
        """Return the clients of the network's nodes, the preferred one first."""
        settings = network.endpoints.all_nodes
        note = self.meters[network.network_id].note_at(0)  # what a node counts, nobody knows
        return tuple(
            NodeClient(self._asker(f"{network.title} node{place}", each, note))
            for place, each in zip(_places(len(settings)), settings, strict=True)
        )

    def _note(self, network: Network, settings: EndpointSettings) -> Note:
        is_own = settings.url.reveal().rstrip("/") == network.own_serve
        return self.meters[network.network_id].note_at(0 if is_own else CREDITS_PER_CALL)

    def inclusion(self, network: Network) -> InclusionAsker | None:
        """Return what asks the network's nodes what became of transactions, if there are any."""
        clients = [InclusionClient(node, network.network_id) for node in self.nodes(network)]
        return None if not clients else FirstThatAnswers(clients)

    def follower(self, network: Network, fees: FeeSettings) -> FailoverFollower | None:
        """Return what reads the fees of the network from its nodes, if there are any."""
        impatient = self if len(network.endpoints.all_nodes) == 1 else replace(self, attempts=1)
        nodes = impatient.nodes(network)
        if not nodes:
            return None
        policy = FollowPolicy(fee_policy(network, fees), network.fees(fees).window_blocks)
        chain = ChainFollower(nodes[0], network.network_id, policy, utc_now)
        failover = FailoverPolicy(lag_blocks=network.endpoints.node_lag)
        return FailoverFollower(chain, nodes, network.network_id, elapsed, failover)

    def _asker(self, name: str, settings: EndpointSettings, note: Note = note_nothing) -> Asker:
        url = rpc_address(settings)
        endpoint = replace(
            self._endpoint(name, url, note),
            key_advice=key_advice(settings),
            forbidden_advice=forbidden_advice(settings),
        )
        if url.reveal().startswith(("ws://", "wss://")):
            return WebSocketAsker(endpoint, self._policy(), self.trust)
        return HttpAsker(self.http, endpoint, self._policy())

    def _endpoint(self, name: str, url: Secret, note: Note) -> Endpoint:
        return Endpoint(name, url, self.patience.request_timeout, note)

    def _policy(self) -> RetryPolicy:
        return RetryPolicy(self.attempts, self.patience.answer_deadline)


def _places(count: int) -> list[str]:
    """Return what tells nodes apart in messages; a lone one needs nothing."""
    return [""] if count == 1 else [f" {place}" for place in range(1, count + 1)]


def _credentials(settings: EndpointSettings) -> Credentials:
    assert settings.key is not None  # noqa: S101 - settings.check refuses a gas endpoint without
    if settings.secret is not None:
        return BasicKey(settings.key, settings.secret)
    return PathKey(settings.key)
