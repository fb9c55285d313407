"""What the served APIs need from outside, handed in by wiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol
from uuid import UUID, uuid4

from dashboard.domain.allowed_hosts import AllowedHosts
from dashboard.domain.clock import Clock
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.keys.authentication import Strangers
from dashboard.serve.keys.key_ring import ApiKey, KeyRing
from dashboard.serve.keys.key_sync import KeyKeeper
from dashboard.serve.keys.rate_limits import Gate
from dashboard.serve.subscriptions.feed import Feed
from dashboard.serve.subscriptions.subscription import Terms
from dashboard.serve.transport.connection_limits import ConnectionLimits
from dashboard.serve.transport.freshness import LastLook
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.known_hashes import KnownHashes
from dashboard.store.rejections.lookup import RejectionReader
from dashboard.upstream.blocks import ChainFees
from dashboard.upstream.node_status import Standing


class Follower(Protocol):
    """Follows a chain through its nodes; `upstream.failover.FailoverFollower` is the one in use.

    `requests` counts what the nodes were asked, `changes` how often another one was turned to.
    Of the `window_blocks` that the numbers rest on, `blocks_held` are read; until the window
    `is_complete`, a snapshot is of a part of it.
    """

    @property
    def standings(self) -> Sequence[Standing]: ...
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
        """Ask the node for what is new; raises UpstreamError."""

    def snapshot(self) -> ChainFees:
        """Return what is known of the fees; raises UpstreamUnavailable when that is nothing."""


@dataclass(frozen=True, slots=True)
class ServedNetwork:
    """A network whose rejections are kept and, where a node is followed, whose fees are told.

    `is_default_for_old_reports`: takes reports whose signature names no network.
    """

    network_id: NetworkId
    name: str
    follower: Follower | None = None
    is_default_for_old_reports: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one caller may ask at once, and how old an answer may be.

    `largest_body`: bytes of one HTTP body or one WebSocket message.
    `largest_batch`: requests of one JSON-RPC batch.
    `waiting_reports`: reports that may wait for the disk before more are refused.
    `oldest_fees`: how long fees are told after the node last answered; it counts as stalled
    when its newest block is older, though it answers.
    `refresh_period`: how often each node is asked for a new block.
    `subscriptions`: how many one WebSocket may hold.
    `websocket_queue`, `websocket_idle`: `queue` and `idle` of `Terms`.
    """

    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    largest_body: int = 1_000_000
    largest_batch: int = 1_000
    waiting_reports: int = 2_000
    oldest_fees: timedelta = timedelta(minutes=2)
    refresh_period: timedelta = timedelta(seconds=1)
    subscriptions: int = 100
    websocket_queue: int = 1_000_000
    websocket_idle: timedelta = timedelta(hours=1)

    @property
    def terms(self) -> Terms:
        """What WebSockets are held to."""
        return Terms(
            self.largest_body, self.websocket_queue, self.connections.reading, self.websocket_idle
        )


@dataclass(frozen=True, slots=True)
class ServeServices:
    """Everything that `build_app` needs.

    `method_prefixes`: brands under which both methods answer, such as ``chain`` and ``linea``.
    `cors_origins`: browser origins that may call, ``*`` for all.
    `metrics_key`: opens ``/metrics`` to other machines than this one.
    `allowed_hosts`: names under which this machine reads ``/metrics`` without a key.
    `has_page`: whether the page that tries the APIs is served.
    `log_requests`: whether every answered request leaves a line in the log.
    `new_id`: gives ids that nobody else has.
    `strangers`: bounds attempts without a right key. `key_keeper`: keeps `keys` as the store has
    them while the app runs, where there is one.
    """

    store: Store
    keys: KeyRing
    networks: tuple[ServedNetwork, ...]
    clock: Clock
    method_prefixes: tuple[str, ...] = ("chain", "linea")
    cors_origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    log_requests: bool = True
    new_id: Callable[[], UUID] = uuid4
    gate: Gate = field(default_factory=Gate)
    strangers: Strangers = field(default_factory=lambda: Strangers(0))
    key_keeper: KeyKeeper | None = None
    counters: Counters = field(default_factory=Counters)
    metrics_key: Secret | None = None
    has_page: bool = True
    allowed_hosts: AllowedHosts = field(default_factory=AllowedHosts)
    last_look: LastLook = field(default_factory=LastLook)
    feed: Feed = field(init=False)
    rejections: RejectionReader = field(init=False)
    records: RejectionReader = field(init=False)
    known: KnownHashes = field(init=False)

    def __post_init__(self) -> None:
        """Make what reads the store all the time."""
        object.__setattr__(self, "feed", Feed(self.store))
        reader = RejectionReader(self.store)
        object.__setattr__(self, "rejections", reader)
        more = reader if reader.is_near else RejectionReader(self.store)
        object.__setattr__(self, "records", more)
        object.__setattr__(self, "known", KnownHashes(self.rejections))

    def networks_of(self, caller: ApiKey) -> tuple[NetworkId, ...]:
        """Return the networks that a caller's key opens."""
        ids = (network.network_id for network in self.networks)
        return tuple(network_id for network_id in ids if caller.opens(network_id))
