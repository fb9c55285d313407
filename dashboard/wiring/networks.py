"""The networks of an installation, with the clients that ask their endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from dashboard.devnet.chain import BLOCK_SECONDS, DEVNET_ID
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import SettingsError
from dashboard.settings import EndpointSettings, NetworkSettings, Settings
from dashboard.settings.schema import PollSettings
from dashboard.settings.values import Duration
from dashboard.upstream.endpoint import Asker, Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.gas import BasicKey, Credentials, GasClient, PathKey
from dashboard.upstream.http import HttpAsker, HttpClient
from dashboard.upstream.node import NodeClient
from dashboard.upstream.retry import RetryPolicy
from dashboard.upstream.websocket import WebSocketAsker


@dataclass(frozen=True, slots=True)
class Network:
    """One network that is watched: what people call it, and where it is asked."""

    network_id: NetworkId
    title: str
    endpoints: NetworkSettings
    is_simulated: bool = False


def networks_of(settings: Settings) -> tuple[Network, ...]:
    """Return the watched networks, devnet first; SettingsError where two have the same id."""
    networks: dict[NetworkId, Network] = {}
    for network in _networks(settings):
        other = networks.setdefault(network.network_id, network)
        if other is not network:
            raise SettingsError(
                f"the networks {other.title} and {network.title} both have the id "
                f"{network.network_id}; a network is configured once"
            )
    return tuple(networks.values())


def _networks(settings: Settings) -> Iterator[Network]:
    if settings.has_devnet:
        yield Network(DEVNET_ID, "devnet", _devnet_endpoints(settings), is_simulated=True)
    for name, endpoints in settings.networks.items():
        yield Network(NetworkId(endpoints.network_id), endpoints.title or name, endpoints)


def _devnet_endpoints(settings: Settings) -> NetworkSettings:
    serve = Secret(f"http://{_host(settings.serve.host)}:{settings.serve.port}")
    node = Secret(f"http://{_host(settings.devnet.host)}:{settings.devnet.port}")
    own = EndpointSettings(url=serve, key=settings.devnet.key)
    return NetworkSettings(
        network_id=DEVNET_ID,
        exclusion=own,
        gas=own,
        node=EndpointSettings(url=node),
        block_time=Duration(seconds=BLOCK_SECONDS),
    )


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@dataclass(frozen=True, slots=True)
class Clients:
    """Makes the clients of networks over one shared HTTP client; `attempts` at each question."""

    http: HttpClient
    patience: PollSettings
    attempts: int = 3

    def exclusion(self, network: Network) -> ExclusionClient | None:
        """Return the client of the exclusion endpoint, if there is one."""
        settings = network.endpoints.exclusion
        if settings is None:
            return None
        asker = self._asker(f"{network.title} exclusion endpoint", rpc_address(settings))
        return ExclusionClient(asker, settings.method_prefix, self.patience.largest_batch)

    def gas(self, network: Network) -> GasClient | None:
        """Return the client of the gas endpoint, if there is one."""
        settings = network.endpoints.gas
        if settings is None:
            return None
        endpoint = self._endpoint(f"{network.title} gas endpoint", settings.url)
        asker = HttpAsker(self.http, endpoint, self._policy())
        return GasClient(asker, network.network_id, _credentials(settings, network.title))

    def node(self, network: Network) -> NodeClient | None:
        """Return the client of the network's node, if there is one."""
        settings = network.endpoints.node
        if settings is None:
            return None
        return NodeClient(self._asker(f"{network.title} node", settings.url))

    def _asker(self, name: str, url: Secret) -> Asker:
        endpoint = self._endpoint(name, url)
        if url.reveal().startswith(("ws://", "wss://")):
            return WebSocketAsker(endpoint, self._policy())
        return HttpAsker(self.http, endpoint, self._policy())

    def _endpoint(self, name: str, url: Secret) -> Endpoint:
        return Endpoint(name, url, self.patience.request_timeout)

    def _policy(self) -> RetryPolicy:
        return RetryPolicy(self.attempts, self.patience.answer_deadline)


def rpc_address(settings: EndpointSettings) -> Secret:
    """Return where JSON-RPC is asked: below the address by key, or the address itself."""
    if settings.key is None:
        return settings.url
    base = settings.url.reveal().rstrip("/")
    folder = "ws/v3" if base.startswith(("ws://", "wss://")) else "v3"
    return Secret(f"{base}/{folder}/{quote(settings.key.reveal(), safe='')}")


def _credentials(settings: EndpointSettings, title: str) -> Credentials:
    if settings.key is None:
        raise SettingsError(f"the gas endpoint of {title} lacks key; add it")
    if settings.secret is not None:
        return BasicKey(settings.key, settings.secret)
    return PathKey(settings.key)
