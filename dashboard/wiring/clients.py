"""The clients of the endpoints of networks: their addresses, and the budgets they keep to."""

from __future__ import annotations

import dataclasses
import re
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.alert.channels.smtp import Security
from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod
from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import Operation
from dashboard.domain.health.transport_state import TransportState
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.domain.secret import Secret
from dashboard.poll.block_follower import InclusionAsker
from dashboard.poll.exclusion import ExclusionAsker
from dashboard.settings import EndpointSettings, Settings
from dashboard.settings.budgets import fee_credits_per_day
from dashboard.settings.schema import ExclusionSettings, PollSettings
from dashboard.settings.tls import tls_context
from dashboard.settings.values import origin_of
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import transports_of
from dashboard.store.monitoring.upkeep import note_stretch, spent_of, stretch_of, take_credits
from dashboard.upstream.blocks import BlockStream
from dashboard.upstream.budget import BudgetKeeper, NetworkBudgets, Taken
from dashboard.upstream.endpoint import Asker, Endpoint, Meter
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.exclusion_endpoints import ExclusionEndpoints
from dashboard.upstream.gas import BasicKey, Credentials, GasClient, PathKey
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.http import HttpAsker, HttpClient, RetryPolicy, open_client
from dashboard.upstream.node import BlockClient, InclusionClient, NodeClient
from dashboard.upstream.node_failover import FailoverFollower, FailoverPolicy, FirstThatAnswers
from dashboard.upstream.websocket import WebSocketAsker
from dashboard.wiring.clock import elapsed, utc_now
from dashboard.wiring.networks import Network, budgets_of, is_own_serve, networks_of, tariff_of

_WEBSOCKET: Final = ("wss://", "ws://")


@asynccontextmanager
async def open_clients(
    settings: Settings, attempts: int = 3, store: Store | None = None, *, for_people: bool = False
) -> AsyncIterator[Clients]:
    """Yield the clients of all networks, over the one HTTP client of the process.

    With a `store` they keep to budgets, of which people and polls have different shares, and begin
    with what was found out about endpoints before.
    """
    trust = tls_context(settings.tls)
    async with open_client(trust) as http:
        wait = settings.pages.lookup_deadline if for_people else None
        clients = Clients(http, settings.poll, attempts, trust, budgets_of(settings), deadline=wait)
        if store is not None:
            keepers = budget_keepers(settings, store, utc_now, for_people=for_people)
            clients.keepers.update(keepers)
            with store.read() as connection:
                ids = [each.network_id for each in networks_of(settings)]
                clients.known.update(transports_of(connection, ids))
        try:
            yield clients
        finally:
            for each in clients.opened:
                await each.aclose()


class Clients(Struct, frozen=True):
    """Makes the clients of networks over one shared HTTP client, with `attempts` for each question.

    People wait until a `deadline`, and 60% of that for one request: then it is another's turn.
    `trust` says which certificates are trusted over WebSocket. All clients of a network count
    their calls in its one meter, at the `tariffs` of budgets; `keepers` hold them to those. `known`
    is how endpoints took questions, by their names.
    """

    http: HttpClient
    poll_settings: PollSettings
    attempts: int = 3
    trust: ssl.SSLContext | None = None
    tariffs: Mapping[str, Budget] = field(default_factory=dict)
    meters: defaultdict[NetworkId, Meter] = field(default_factory=lambda: defaultdict(Meter))
    keepers: dict[str, BudgetKeeper] = field(default_factory=dict)
    known: dict[NetworkId, dict[str, list[TransportState]]] = field(default_factory=dict)
    opened: list[WebSocketAsker | ExclusionEndpoints] = field(default_factory=list)
    deadline: timedelta | None = None

    def exclusion(self, network: Network) -> ExclusionAsker | None:
        """Return the client of the exclusion endpoints, if there are any."""
        clients, asks_all = self.exclusions(network), network.endpoints.asks_all
        if len(clients) <= 1:
            return clients.get("")
        endpoints = ExclusionEndpoints(clients, elapsed, asks_all=asks_all)
        self.opened.append(endpoints)
        return endpoints

    def exclusions(self, network: Network) -> dict[str, ExclusionClient]:
        """Return the client of each exclusion endpoint by name; a single one has no name.

        If there are several, none is asked twice in a row: the others wait.
        """
        every = network.endpoints.all_exclusions
        attempts = self.attempts if len(every) == 1 else 1
        return {
            name: self._exclusion(network, name, each, attempts) for name, each in every.items()
        }

    def budgets(self, network: Network, asker: ExclusionAsker | None) -> NetworkBudgets | None:
        """Return the budgets of the exclusion endpoints that `asker` asks, if they have any."""
        shares = {}
        for name, each in network.endpoints.all_exclusions.items():
            if (keeper := self.keepers.get(each.budget)) is not None:
                shares[name] = keeper, keeper.budget.cost(Operation.EXCLUSION_STATUS)
        in_use = asker.in_use if isinstance(asker, ExclusionEndpoints) else shares.keys
        return NetworkBudgets(shares, in_use) if shares else None

    def other_transport(self, network: Network, name: str) -> tuple[ExclusionClient, str, bool]:
        """Return a client for WebSocket if that exclusion endpoint has HTTP, or the reverse.

        With the name of the transport, and whether the settings have an address for it.
        """
        settings = network.endpoints.all_exclusions[name]
        scheme, _, rest = settings.url.reveal().partition("://")
        other = {"http": "ws", "https": "wss", "ws": "http", "wss": "https"}.get(scheme, scheme)
        url = settings.websocket_url or Secret(f"{other}://{rest}")
        swapped = msgspec.structs.replace(settings, url=url, websocket_url=None)
        transport = "WebSocket" if other.startswith("ws") else "HTTP"
        is_configured = settings.websocket_url is not None
        client = self._exclusion(network, name, swapped, self.attempts)
        return client, transport, is_configured

    def _exclusion(
        self, network: Network, name: str, settings: ExclusionSettings, attempts: int
    ) -> ExclusionClient:
        """Return a client that prefers WebSocket if the settings name both addresses."""
        title, second = exclusion_title(network, name), None
        turns = 1 if network.endpoints.asks_all else len(network.endpoints.all_exclusions)
        meter = self.meters[network.network_id]
        asker = self._asker(network, title, settings, attempts)
        if settings.websocket_url is not None:
            over_websocket = msgspec.structs.replace(settings, url=settings.websocket_url)
            first = self._asker(network, title, over_websocket, min(attempts, 2))  # HTTP is next
            asker, second = first, asker
        return ExclusionClient(
            asker,
            settings.method_prefix,
            self.poll_settings.largest_batch,
            second,
            self.known.get(network.network_id, {}).get(title, ()),
            partial(meter.note_transport, title),
            elapsed,
            self.deadline and 0.9 * self.deadline / turns,
        )

    def gas(self, network: Network) -> GasClient | None:
        settings = network.endpoints.gas
        if settings is None:
            return None
        endpoint = self._endpoint(network, f"{network.title} gas endpoint", settings, settings.url)
        # A question that hangs holds up the others of its poll, and the polls after it.
        asker = HttpAsker(self.http, endpoint, self._policy(is_awaited=True))
        return GasClient(asker, network.network_id, _credentials(settings))

    def nodes(self, network: Network, *, for_fees: bool = False) -> tuple[NodeClient, ...]:
        """Return the clients of the network's nodes, the preferred one first."""
        settings = network.endpoints.all_nodes
        return tuple(
            NodeClient(
                self._asker(network, f"{network.title} node{place}", each), for_fees=for_fees
            )
            for place, each in zip(place_names(len(settings)), settings, strict=True)
        )

    def inclusion(self, network: Network) -> InclusionAsker | None:
        """Return the client that asks the network's nodes for receipts, if there are nodes."""
        clients = [InclusionClient(node, network.network_id) for node in self.nodes(network)]
        return None if not clients else FirstThatAnswers(clients, elapsed)

    def blocks(self, network: Network) -> BlockClient | None:
        """Return the client that dates blocks, if there are nodes."""
        nodes = self.nodes(network)
        endpoints = network.endpoints
        return BlockClient(nodes, network.network_id, endpoints.block_time) if nodes else None

    def new_blocks(self, network: Network) -> BlockStream | None:
        """Return the reader of the transactions in new blocks, if there are nodes."""
        nodes = self.nodes(network)
        return BlockStream(nodes, network.network_id, elapsed) if nodes else None

    def follower(self, network: Network, fees: FeePolicy) -> FailoverFollower | None:
        """Return the follower that reads fees from the nodes of the network, if there are any."""
        impatient = self if len(network.endpoints.all_nodes) == 1 else replace(self, attempts=1)
        nodes = impatient.nodes(network, for_fees=True)
        if not nodes:
            return None
        policy = FollowPolicy(network.fees(fees))
        chain = ChainFollower(nodes[0], network.network_id, policy, utc_now)
        failover = FailoverPolicy(lag_blocks=network.endpoints.node_lag)
        return FailoverFollower(chain, nodes, network.network_id, elapsed, failover)

    def _asker(
        self,
        network: Network,
        name: str,
        settings: EndpointSettings,
        attempts: int | None = None,
    ) -> Asker:
        url = rpc_address(settings)
        endpoint = dataclasses.replace(
            self._endpoint(network, name, settings, url),
            key_advice=key_advice(settings),
            forbidden_advice=forbidden_advice(settings),
        )
        if url.reveal().startswith(("ws://", "wss://")):
            asker = WebSocketAsker(endpoint, self._policy(attempts), self.trust)
            self.opened.append(asker)
            return asker
        return HttpAsker(self.http, endpoint, self._policy(attempts))

    def _endpoint(
        self, network: Network, name: str, settings: EndpointSettings, url: Secret
    ) -> Endpoint:
        """Return an address with what its calls cost, and what keeps them to a budget."""
        note = self.meters[network.network_id].note_at(tariff_of(settings, network, self.tariffs))
        keeper = self.keepers.get(settings.budget)
        return Endpoint(name, url, self._timeout, note, budget=keeper)

    @property
    def _timeout(self) -> timedelta:
        timeout = self.poll_settings.request_timeout
        return timeout if self.deadline is None else min(timeout, 0.6 * self.deadline)

    def _policy(self, attempts: int | None = None, *, is_awaited: bool = False) -> RetryPolicy:
        policy = RetryPolicy(attempts or self.attempts, self.poll_settings.answer_deadline)
        if not (is_awaited or self.deadline):
            return policy
        return replace(policy, patience=0.9 * self._timeout)


def exclusion_title(network: Network, name: str) -> str:
    """Return the name of an exclusion endpoint in errors."""
    return f"{network.title} exclusion endpoint {name}".rstrip()


def place_names(count: int) -> list[str]:
    """Return what distinguishes nodes in error messages; a single one needs nothing."""
    return [""] if count == 1 else [f" {place}" for place in range(1, count + 1)]


def _credentials(settings: EndpointSettings) -> Credentials:
    assert settings.key is not None  # noqa: S101 - the check of settings refuses a gas endpoint without
    if settings.secret is not None:
        return BasicKey(settings.key, settings.secret)
    return PathKey(settings.key)


def rpc_address(settings: EndpointSettings) -> Secret:
    """Return the whole address, with the key if there is one."""
    if settings.key is None:
        return settings.url
    base = settings.url.reveal().rstrip("/")
    return Secret(f"{base}/{_folder(base)}/{quote(settings.key.reveal(), safe='')}")


def key_advice(settings: EndpointSettings) -> str:
    """Return the remedy if the key is refused, as many servers do for a wrong address too."""
    base = settings.url.reveal().rstrip("/")
    folder = _folder(base)
    if settings.key is None:
        return (
            f"without the setting key, url has to end in /{folder}/KEY with a valid key: correct "
            "that, or write url without that path and set key"
        )
    doubled = next((each for each in (folder, "v3", "ws") if base.endswith(f"/{each}")), None)
    if doubled is not None:
        return f"url ends in /{doubled}, and /{folder}/KEY is added to it: leave /{doubled} out"
    return f"check the API key, and that it belongs at /{folder}/KEY below url"


def forbidden_advice(settings: EndpointSettings) -> str:
    """Return the remedy if a request is forbidden.

    WebSocket servers forbid every path that they do not have, so a wrong address as well.
    """
    if settings.key is None:
        return "check url: the setting key is empty, and a key inside url may not ask this"
    if settings.url.reveal().startswith(_WEBSOCKET):
        return f"the settings of the API key do not allow this, or {key_advice(settings)}"
    return "the settings of the API key do not allow this"


def _folder(base: str) -> str:
    return "ws/v3" if base.startswith(_WEBSOCKET) else "v3"


def tls_servers(settings: Settings) -> dict[str, str]:
    """Return by host what each server is called; addresses are never shown, as they hold keys."""
    found: dict[str, str] = {}
    for host, name in _servers(settings):
        found.setdefault(host.lower(), name)
    return found


def _servers(settings: Settings) -> Iterator[tuple[str, str]]:
    mail, bounces = settings.mail, settings.bounces
    if mail.smtp_host and mail.security is not Security.NONE:
        yield mail.smtp_host, "the mail server"
    if bounces.imap_host:
        yield bounces.imap_host, "the mailbox of bounces"
    for name, channel in settings.channels.items():
        yield from _of(channel.url, f"channel {name}")
    yield from _of(settings.alerts.heartbeat_url, "the heartbeat")
    for network in networks_of(settings):
        for each, name in _of_network(network):
            yield from _of(each.url, f"the {name}")


def _of_network(network: Network) -> Iterator[tuple[EndpointSettings, str]]:
    endpoints = network.endpoints
    if endpoints.gas is not None:
        yield endpoints.gas, f"{network.title} gas endpoint"
    for name, exclusion in endpoints.all_exclusions.items():
        title = exclusion_title(network, name)
        yield exclusion, title
        if exclusion.websocket_url is not None:
            yield msgspec.structs.replace(exclusion, url=exclusion.websocket_url), title
    nodes = endpoints.all_nodes
    for place, each in zip(place_names(len(nodes)), nodes, strict=True):
        yield each, f"{network.title} node{place}"


def upstream_origins(settings: Settings) -> dict[str, str]:
    """Return by origin (``https://host``) what each upstream beyond this installation is called."""
    found: dict[str, str] = {}
    for network in networks_of(settings):
        for each, name in () if network.is_simulated else _of_network(network):
            if not is_own_serve(each, settings):
                found.setdefault(origin_of(re.sub("^ws", "http", each.url.reveal())), name)
    return found


def _of(url: Secret, name: str) -> Iterator[tuple[str, str]]:
    address = urlsplit(url.reveal())
    if address.scheme in {"https", "wss"} and address.hostname:
        yield address.hostname, name


class StoredPurse(Struct, frozen=True):
    """The credits of one budget as the store counts them."""

    store: Store
    name: str
    now: Clock

    def take(self, amount: int, limits: Mapping[BudgetPeriod, int]) -> Taken:
        """Take so many, if no more than `limits` are spent then."""
        now = self.now()
        if not amount:
            with self.store.read() as connection:
                return Taken(is_taken=True, spent=spent_of(connection, self.name, now))
        with self.store.write() as connection:
            is_taken = take_credits(connection, self.name, now, amount, limits)
            return Taken(is_taken, spent_of(connection, self.name, now))

    def note_stretch(self, stretch: float) -> None:
        """Record for everybody how far polls stretch."""
        with self.store.write() as connection:
            note_stretch(connection, self.name, self.now(), stretch)


def budget_keepers(
    settings: Settings, store: Store, now: Clock, *, for_people: bool
) -> dict[str, BudgetKeeper]:
    """Return the keeper of each budget of the settings."""
    found = {}
    for name, budget in budgets_of(settings).items():
        with store.read() as connection:
            stretch = stretch_of(connection, name, now())
        found[name] = BudgetKeeper(
            budget,
            StoredPurse(store, name, now),
            now,
            for_people=for_people,
            fixed=fee_credits_per_day(settings, budget) / timedelta(days=1).total_seconds(),
            stretch=stretch,
        )
    return found
