"""How each of a network's nodes stands: in use, ready, behind, or why it is not asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.quantity import NetworkId
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.logs import get_logger
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader

_log = get_logger(__name__)

_FORGIVEN_AFTER: Final = timedelta(minutes=10)
"""A node that served so long without trouble is trusted as at first."""


class NodeState(StrEnum):
    """What a node is good for; the last three are not asked for fees while another is."""

    IN_USE = "in use"
    READY = "ready"
    UNASKED = "not asked yet"
    LAGGING = "lagging"
    DISAGREEING = "disagreeing"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class FailoverPolicy:
    """When another node is asked instead.

    A node is behind when its newest block is `lag_blocks` below another's. Those that stand by
    are looked at every `look_period`, each look lasts `look_patience` at most. One that failed
    is left alone for `first_rest`, twice as long each time up to `longest_rest`, and a
    preferred one is asked again after `good_looks` in a row. One that failed for as long as
    `silence_believed` is no longer waited for where all others say that blocks are gone.
    """

    lag_blocks: int = 3
    look_period: timedelta = timedelta(seconds=10)
    look_patience: timedelta = timedelta(seconds=2)
    first_rest: timedelta = timedelta(seconds=5)
    longest_rest: timedelta = timedelta(minutes=5)
    good_looks: int = 3
    silence_believed: timedelta = timedelta(minutes=1)


@dataclass(slots=True)
class NodeStatus:
    """One node, what was last seen of it, and when it may be asked again.

    `since` and `rests_until` are times of the clock that only goes on.
    """

    node: NodeClient
    state: NodeState = NodeState.UNASKED
    why: str = ""
    since: timedelta = field(default_factory=timedelta)
    head: BlockHeader | None = None
    good_looks: int = 0
    is_throttled: bool = False
    rests_until: timedelta = timedelta.min
    _next_rest: timedelta | None = None
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
        """Note a change of state, and say it once."""
        if state is self.state:
            return
        if why:
            _log.warning("A node is not asked now", node=self.name, state=state, why=why)
        elif self.why:
            _log.info("A node is well again", node=self.name, was=self.state)
        self.state, self.why, self.since = state, why, now
        if state is not NodeState.IN_USE:
            self.good_looks = 0

    def fails(self, error: UpstreamError, now: timedelta, policy: FailoverPolicy) -> None:
        """Leave the node alone, longer after each failure, or as long as it wishes."""
        was_well_for = now - self.since if self.state is NodeState.IN_USE else timedelta(0)
        rest = self._next_rest or policy.first_rest
        if was_well_for > _FORGIVEN_AFTER:
            rest = policy.first_rest
        self._next_rest = min(2 * rest, policy.longest_rest)
        self.is_throttled = isinstance(error, UpstreamThrottled)
        if isinstance(error, UpstreamThrottled) and error.retry_after is not None:
            rest = max(rest, error.retry_after)
        self.rests_until = now + rest
        self.good_looks, self._is_network_checked = 0, False
        self.becomes(NodeState.FAILING, now, str(error))


Elapsed = Callable[[], timedelta]
"""The time of a clock that only goes on."""
