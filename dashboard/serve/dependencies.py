"""The dependencies of the served APIs, passed in by wiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol
from uuid import UUID, uuid4

from msgspec import Struct

from dashboard.domain.allowed_hosts import AllowedHosts
from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import AuthenticationThrottle, KeyLimiter, KeyRing
from dashboard.serve.keys.key_sync import KeySync
from dashboard.serve.subscriptions import Feed, OpenSessions
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.known_hashes import KnownHashes, RejectionReader
from dashboard.transport.connection_limits import ConnectionLimits
from dashboard.upstream.gas_oracle import ChainFees
from dashboard.upstream.node_failover import NodeStatus


class Follower(Protocol):
    """Follows a chain through its nodes; `upstream.node_failover.FailoverFollower` implements it.

    `requests` counts the requests to the nodes, `changes` how often it switched to another node. Of
    the `window_blocks` from which the numbers are computed, `blocks_held` are read; until the
    window `is_complete`, a snapshot covers a part of it.
    """

    @property
    def node_statuses(self) -> Sequence[NodeStatus]: ...
    @property
    def requests(self) -> int: ...
    @property
    def changes(self) -> int: ...
    @property
    def blocks_held(self) -> int: ...
    @property
    def window_blocks(self) -> int: ...
    @property
    def is_complete(self) -> bool: ...

    async def refresh(self) -> None:
        """Ask the node for new blocks; raises UpstreamError."""

    def snapshot(self) -> ChainFees:
        """Return the known fees; raises UpstreamUnavailable if there are none."""


class ServedNetwork(Struct, frozen=True):
    """A network whose rejections are served and, if a node is followed, whose fees are.

    `is_default_for_old_reports`: accepts reports whose signature names no network.
    """

    network_id: NetworkId
    name: str
    follower: Follower | None = None
    is_default_for_old_reports: bool = False


class ServeLimits(Struct, frozen=True):
    """How much one caller may request at once, and how old an answer may be.

    `largest_body`: bytes of one HTTP body or one WebSocket message.
    `largest_batch`: requests of one JSON-RPC batch.
    `waiting_reports`: reports that may wait to be saved before more are refused.
    `oldest_fees`: how long fees are served after the node last answered; a node whose newest
    block is older counts as stalled.
    `refresh_period`: how often each node is asked for a new block.
    `largest_subscriptions`: how many one WebSocket may hold.
    `largest_queue`: bytes of pushes that wait for one WebSocket client.
    `quiet_timeout`: after this time a client that sends nothing and has no subscription is closed.
    """

    connections: ConnectionLimits = ConnectionLimits()
    largest_body: int = 1_000_000
    largest_batch: int = 1_000
    waiting_reports: int = 2_000
    oldest_fees: timedelta = timedelta(minutes=2)
    refresh_period: timedelta = timedelta(seconds=1)
    largest_subscriptions: int = 100
    largest_queue: int = 1_000_000
    quiet_timeout: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ServeDependencies:
    """Everything that `build_app` needs.

    `method_prefixes`: brands under which both methods answer, such as ``chain`` and ``linea``.
    `cors_origins`: browser origins that may call, ``*`` for all.
    `metrics_key`: gives other machines than this one access to ``/metrics``.
    `allowed_hosts`: host names for which this machine reads ``/metrics`` without a key.
    `has_page`: whether the page to try the APIs is served.
    `log_requests`: whether the access log is written.
    `new_id`: returns unique ids.
    `authentication_throttle`: limits attempts with wrong keys. `key_sync`: keeps `keys` equal to
    the store's while the app runs, if there is a store. `sessions`: the open WebSockets.
    """

    store: Store
    keys: KeyRing
    networks: tuple[ServedNetwork, ...]
    clock: Clock
    method_prefixes: Sequence[str] = ("chain", "linea")
    cors_origins: Sequence[str] = ()
    limits: ServeLimits = field(default_factory=ServeLimits)
    log_requests: bool = True
    new_id: Callable[[], UUID] = uuid4
    key_limiter: KeyLimiter = field(default_factory=KeyLimiter)
    authentication_throttle: AuthenticationThrottle = field(
        default_factory=lambda: AuthenticationThrottle(0)
    )
    key_sync: KeySync | None = None
    counters: Counters = field(default_factory=Counters)
    metrics_key: Secret | None = None
    has_page: bool = True
    allowed_hosts: AllowedHosts = field(default_factory=AllowedHosts)
    sessions: OpenSessions = field(default_factory=dict)
    feed: Feed = field(init=False)
    rejections: RejectionReader = field(init=False)
    known: KnownHashes = field(init=False)

    def __post_init__(self) -> None:
        """Create the readers of the store, which last as long as the app."""
        object.__setattr__(self, "feed", Feed(self.store))
        object.__setattr__(self, "rejections", RejectionReader(self.store))
        object.__setattr__(self, "known", KnownHashes(self.rejections))

    def networks_of(self, caller: ApiKey) -> tuple[NetworkId, ...]:
        ids = (network.network_id for network in self.networks)
        return tuple(network_id for network_id in ids if caller.opens(network_id))
