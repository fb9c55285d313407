"""Several nodes of a chain: the first healthy one is asked, the others are standbys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Generic, TypeVar

from msgspec import Struct, field

from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.inclusion import InclusionAnswer, InclusionQuestion
from dashboard.errors import (
    UpstreamError,
    UpstreamRolledBack,
    UpstreamThrottled,
    UpstreamUnavailable,
)
from dashboard.logs import get_logger
from dashboard.upstream.exclusion import loop_time
from dashboard.upstream.gas_oracle import ChainFees, ChainFollower
from dashboard.upstream.node import InclusionClient, NodeClient
from dashboard.wire.node import BlockHeader


class FailoverPolicy(Struct, frozen=True):
    """When to ask another node instead.

    A node lags if its newest block is `lag_blocks` behind another's. Standbys are checked every
    `check_period`, for at most `check_timeout` each. A node that failed is not asked for
    `first_pause`, which doubles each time up to `longest_pause`; a preferred node is used again
    after `good_checks` in a row. A node that has failed for `outage_believed_after` is no longer
    waited for if all others say that blocks are gone.
    """

    lag_blocks: int = 3
    check_period: timedelta = timedelta(seconds=10)
    check_timeout: timedelta = timedelta(seconds=2)
    first_pause: timedelta = timedelta(seconds=5)
    longest_pause: timedelta = timedelta(minutes=5)
    good_checks: int = 3
    outage_believed_after: timedelta = timedelta(minutes=1)


_FORGIVEN_AFTER: Final = timedelta(minutes=10)
"""After this long without a failure, pauses start over."""


class NodeState(StrEnum):
    """The last three are not asked for fees while another node is available."""

    IN_USE = "in use"
    READY = "ready"
    UNASKED = "not asked yet"
    LAGGING = "lagging"
    DISAGREEING = "disagreeing"
    FAILING = "failing"


class NodeStatus(Struct):
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
        """Return the newest block, after checking the network at first; raises UpstreamError."""
        if not self._is_network_checked:
            await self.node.check_network(network_id)
            self._is_network_checked = True
        return await self.node.block("latest")

    def becomes(self, state: NodeState, now: timedelta, why: str = "") -> None:
        """Change the state, and log the change."""
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
        """Pause the node: longer after each failure, or for its `Retry-After`."""
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
"""Returns the time of a monotonic clock."""


_log = get_logger(__name__)

_WORST_LAST: Final = (NodeState.LAGGING, NodeState.DISAGREEING, NodeState.FAILING)


class FailoverFollower:
    """Keeps one chain, whichever node serves it; `refresh` asks, `snapshot` answers.

    The blocks stay when the node changes: the chain of the next node is compared with them hash by
    hash, as after a reorganisation. While another node is healthy, no node can remove blocks
    without replacing them; that is accepted only if all nodes do, or have not answered for long.
    """

    def __init__(
        self,
        follower: ChainFollower,
        nodes: Sequence[NodeClient],
        network_id: NetworkId,
        elapsed: Elapsed,
        policy: FailoverPolicy | None = None,
    ) -> None:
        """Take the nodes in order of preference; `follower` starts with the first."""
        self._follower = follower
        self._network_id = network_id
        self._elapsed = elapsed
        self._policy = policy or FailoverPolicy()
        self._one_at_a_time = asyncio.Lock()
        self.node_statuses = tuple(NodeStatus(node) for node in nodes)
        self.changes = 0
        self._current = self.node_statuses[0]
        self._checked_at = elapsed()

    @property
    def current(self) -> NodeStatus:
        """The node that is asked."""
        return self._current

    @property
    def head(self) -> BlockHeader | None:
        """The newest block in memory."""
        return self._follower.head

    @property
    def read_at(self) -> datetime | None:
        """When a node last said that `head` is its newest block."""
        return self._follower.read_at

    @property
    def is_complete(self) -> bool:
        """Whether the window holds as many blocks as it should, or all that the node has."""
        return self._follower.is_complete

    @property
    def requests(self) -> int:
        """How many requests were sent to all nodes."""
        return sum(each.node.requests for each in self.node_statuses)

    @property
    def window_blocks(self) -> int:
        """How many blocks the window may hold."""
        return self._follower.window_blocks

    @property
    def blocks_held(self) -> int:
        """How many blocks the window holds."""
        return self._follower.blocks_held

    def snapshot(self) -> ChainFees:
        """Return the fees of the blocks in memory; UpstreamUnavailable while there are none."""
        return self._follower.snapshot()

    async def refresh(self) -> None:
        """Ask the best node for new blocks, and the next one if it fails; raises UpstreamError."""
        async with self._one_at_a_time:
            await self._refresh()
            if self._elapsed() - self._checked_at >= self._policy.check_period:
                self._checked_at = self._elapsed()
                await self._check_standbys()

    async def _refresh(self) -> None:
        is_alone = len(self.node_statuses) == 1
        errors = await self._try(self._candidates(), may_roll_back=is_alone)
        gone_back = [each for each, error in errors if isinstance(error, UpstreamRolledBack)]
        if gone_back and not self._may_be_contradicted(gone_back):
            errors = await self._try(gone_back[:1], may_roll_back=True)
        if errors:
            raise _all_of([error for _, error in errors])

    def _may_be_contradicted(self, gone_back: Sequence[NodeStatus]) -> bool:
        """Whether another node works or failed only just now, so that blocks stay for now."""
        believed = self._elapsed() - self._policy.outage_believed_after
        others = [each for each in self.node_statuses if each not in gone_back]
        return any(each.state is not NodeState.FAILING or each.since > believed for each in others)

    def _candidates(self) -> list[NodeStatus]:
        """Return the nodes to ask, best first; paused ones only if no other is left."""
        now = self._elapsed()
        awake = [each for each in self.node_statuses if each.paused_until <= now]
        willing = [each for each in self.node_statuses if not each.is_throttled]
        some = awake or willing or list(self.node_statuses)
        return sorted(some, key=lambda each: (each is not self._current, each.state in _WORST_LAST))

    async def _try(
        self, candidates: Sequence[NodeStatus], *, may_roll_back: bool
    ) -> list[tuple[NodeStatus, UpstreamError]]:
        """Ask nodes until one answers; otherwise return the error of each."""
        errors: list[tuple[NodeStatus, UpstreamError]] = []
        for status in candidates:
            if status is not self._current or status.state is not NodeState.IN_USE:
                self._follower.turn_to(status.node)
            try:
                await self._follower.refresh(may_roll_back=may_roll_back)
            except UpstreamError as error:
                status.fails(error, self._elapsed(), self._policy)
                errors.append((status, error))
            else:
                self._use(status)
                return []
        self._follower.turn_to(self._current.node)
        return errors

    def _use(self, status: NodeStatus) -> None:
        status.head, status.is_throttled = self._follower.head, False
        before, self._current = self._current, status
        if status is not before:
            self.changes += 1
            _log.warning(
                "Another node is asked from now on", node=status.name, instead_of=before.name
            )
            if before.state is NodeState.IN_USE:
                before.becomes(NodeState.READY, self._elapsed())
        status.becomes(NodeState.IN_USE, self._elapsed())

    async def _check_standbys(self) -> None:
        """Check the standbys; switch to a preferred node, or away from one that lags."""
        now = self._elapsed()
        others = [each for each in self.node_statuses if each is not self._current]
        awake = [each for each in others if each.paused_until <= now]
        await asyncio.gather(*(self._check(status) for status in awake))
        best = next((each for each in self.node_statuses if self._is_better(each)), None)
        if best is not None:
            await self._try([best], may_roll_back=False)

    async def _check(self, status: NodeStatus) -> None:
        try:
            async with asyncio.timeout(self._policy.check_timeout.total_seconds()):
                head = await status.newest(self._network_id)
                is_same = head is not None and await self._follower.continues(status.node, head)
        except TimeoutError:
            seconds = self._policy.check_timeout.total_seconds()
            said = f"{status.name}: no answer within {seconds:g} s"
            status.fails(UpstreamUnavailable(said), self._elapsed(), self._policy)
        except UpstreamError as error:
            status.fails(error, self._elapsed(), self._policy)
        else:
            self._judge(status, head, is_same=is_same)

    def _judge(self, status: NodeStatus, head: BlockHeader | None, *, is_same: bool) -> None:
        held, now = self._follower.head, self._elapsed()
        status.head, status.is_throttled = head, False
        if head is None or not is_same:
            said = "its chain shares no known block with that of the node in use"
            status.becomes(NodeState.DISAGREEING, now, said)
        elif held is not None and held.number - head.number >= self._policy.lag_blocks:
            said = f"its newest block {head.number} is behind block {held.number}"
            status.becomes(NodeState.LAGGING, now, said)
        else:
            status.becomes(NodeState.READY, now)
            status.good_checks += 1

    def _is_better(self, status: NodeStatus) -> bool:
        """Whether a node that was just checked should replace the current one."""
        held = self._follower.head
        if status.state is not NodeState.READY or status.head is None or held is None:
            return False
        if status.head.number - held.number >= self._policy.lag_blocks:
            return True
        is_preferred = self.node_statuses.index(status) < self.node_statuses.index(self._current)
        return is_preferred and status.good_checks >= self._policy.good_checks


def _all_of(errors: Sequence[UpstreamError]) -> UpstreamError:
    """Return one error for all; throttled only if all are, with the shortest wait."""
    if len(errors) == 1:
        return errors[0]
    waits = [each.retry_after for each in errors if isinstance(each, UpstreamThrottled)]
    said = "; ".join(map(str, errors))
    if len(waits) == len(errors):
        known = [wait for wait in waits if wait is not None]
        return UpstreamThrottled(said, min(known, default=timedelta(0)) or None)
    return UpstreamUnavailable(said)


_SHORTEST_REST: Final = timedelta(seconds=15)
_LONGEST_REST: Final = timedelta(minutes=5)
_LONG: Final = timedelta(seconds=1)
"""A node that fails sooner delays nobody, so it goes on being asked first."""

NodeT = TypeVar("NodeT")


class Preference(Generic[NodeT]):
    """Nodes by preference; one that hangs comes last for a while, longer each time.

    So it delays few questions, and an answer brings it back.
    """

    def __init__(self, nodes: Sequence[NodeT], elapsed: Elapsed = loop_time) -> None:
        self.elapsed = elapsed
        self._nodes = nodes
        self._rests: dict[NodeT, tuple[timedelta, timedelta]] = {}

    def in_order(self) -> list[NodeT]:
        now = self.elapsed()
        return sorted(self._nodes, key=lambda each: self._rest_of(each)[1] > now)

    def note(self, node: NodeT, began: timedelta, *, is_answered: bool) -> None:
        """Note whether a node answered what it was asked at `began`."""
        (rest, until), now = self._rest_of(node), self.elapsed()
        if is_answered:
            self._rests.pop(node, None)
        elif until <= now and now - began >= _LONG:
            rest = min(max(2 * rest, _SHORTEST_REST), _LONGEST_REST)
            self._rests[node] = rest, now + rest

    def _rest_of(self, node: NodeT) -> tuple[timedelta, timedelta]:
        """Return the length of its last rest, and when that ends."""
        return self._rests.get(node, (timedelta(), timedelta.min))


class FirstThatAnswers:
    """Asks the first node, then each next one about what is still unanswered."""

    def __init__(self, clients: Sequence[InclusionClient], elapsed: Elapsed = loop_time) -> None:
        self._clients = Preference(clients, elapsed)

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Return one answer for each question, in order; a failure if no node answers it."""
        first, *others = self._clients.in_order()
        answers = await self._ask(first, questions)
        for client in others:
            open_ = [place for place, each in enumerate(answers) if each.failure is not None]
            if not open_:
                break
            more = await self._ask(client, [questions[place] for place in open_])
            for place, answer in zip(open_, more, strict=True):
                if answer.failure is None:
                    answers[place] = answer
        return answers

    async def _ask(
        self, client: InclusionClient, questions: Sequence[InclusionQuestion]
    ) -> list[InclusionAnswer]:
        """Ask one node; it has not answered either if the asker does not wait any longer."""
        answers: list[InclusionAnswer] = []
        began = self._clients.elapsed()
        try:
            answers = await client.ask(questions)
        finally:
            is_answered = any(each.failure is None for each in answers)
            self._clients.note(client, began, is_answered=is_answered)
        return answers
