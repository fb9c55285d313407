"""The status of each node of a network: in use, ready, lagging, or why it is not asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.quantity import NetworkId
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.logs import get_logger
from dashboard.upstream.failover_policy import FailoverPolicy
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader

_log = get_logger(__name__)

_FORGIVEN_AFTER: Final = timedelta(minutes=10)
"""After so long without a failure, the waits after failures start over."""


class NodeState(StrEnum):
    """The last three are not asked for fees while another node can be."""

    IN_USE = "in use"
    READY = "ready"
    UNASKED = "not asked yet"
    LAGGING = "lagging"
    DISAGREEING = "disagreeing"
    FAILING = "failing"


@dataclass(slots=True)
class NodeStatus:
    """One node, its last answer, and when it may be asked again.

    `since` and `paused_until` are times of the monotonic clock.
    """

    node: NodeClient
    state: NodeState = NodeState.UNASKED
    why: str = ""
    since: timedelta = field(default_factory=timedelta)
    head: BlockHeader | None = None
    good_checks: int = 0
    is_throttled: bool = False
    paused_until: timedelta = timedelta.min
    _next_pause: timedelta | None = None
    _is_network_checked: bool = False

    @property
    def name(self) -> str:
        """The node's name in logs and messages."""
        return self.node.endpoint.name

    async def newest(self, network_id: NetworkId) -> BlockHeader | None:
        """Ask for the newest block, at first also for the network; raises UpstreamError."""
        if not self._is_network_checked:
            await self.node.check_network(network_id)
            self._is_network_checked = True
        return await self.node.block("latest")

    def becomes(self, state: NodeState, now: timedelta, why: str = "") -> None:
        """Change the state, and log it once."""
        if state is self.state:
            return
        if why:
            _log.warning("A node is not asked now", node=self.name, state=state, why=why)
        elif self.why:
            _log.info("A node is healthy again", node=self.name, was=self.state)
        self.state, self.why, self.since = state, why, now
        if state is not NodeState.IN_USE:
            self.good_checks = 0

    def fails(self, error: UpstreamError, now: timedelta, policy: FailoverPolicy) -> None:
        """Pause the node, longer after each failure, or for its `Retry-After`."""
        was_well_for = now - self.since if self.state is NodeState.IN_USE else timedelta(0)
        rest = self._next_pause or policy.first_pause
        if was_well_for > _FORGIVEN_AFTER:
            rest = policy.first_pause
        self._next_pause = min(2 * rest, policy.longest_pause)
        self.is_throttled = isinstance(error, UpstreamThrottled)
        if isinstance(error, UpstreamThrottled) and error.retry_after is not None:
            rest = max(rest, error.retry_after)
        self.paused_until = now + rest
        self.good_checks, self._is_network_checked = 0, False
        self.becomes(NodeState.FAILING, now, str(error))


Elapsed = Callable[[], timedelta]
"""The time of a monotonic clock."""
