"""Small hostile nodes over real HTTP: a chain of our own, and what each does with its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_failover import FailoverFollower
from dashboard.wiring.clock import elapsed
from tests.integration.faulty_upstreams import (
    PATIENCE,
    TRUST,
    Behaviour,
    Upstream,
    an_upstream,
    replying,
)
from tests.integration.running_server import utc_now
from tests.unit.upstream.fake_chain import FakeChain

NETWORK = NetworkId(424242)

Reply = dict[str, Any]
Spoil = Callable[[str, Any], Any]
"""Takes a method and its result; returns what the node says instead."""

ABSENT: Any = object()
"""Stands for a member that a node leaves out."""


def where(method: str, **changes: Any) -> Spoil:  # noqa: ANN401 - whatever a node may say
    """Change members of each result of a method; ABSENT leaves them out."""

    def spoil(asked: str, result: Any) -> Any:  # noqa: ANN401 - likewise
        if asked != method or not isinstance(result, dict):
            return result
        made = {
            name: change(result.get(name)) if callable(change) else change
            for name, change in changes.items()
        }
        return {name: each for name, each in (result | made).items() if each is not ABSENT}

    return spoil


def only(method: str, value: object) -> Spoil:
    return lambda asked, result: value if asked == method else result


@dataclass
class OddNode:
    """A node over a chain. `spoil` changes its results, `instead` replaces its whole answers.

    `methods` keeps the methods of every request, those of a batch once.
    """

    chain: FakeChain
    spoil: Spoil = lambda _, result: result
    instead: Behaviour | None = None
    methods: list[str] = field(default_factory=list)

    async def behave(self, upstream: Upstream, writer: asyncio.StreamWriter) -> None:
        question = json.loads(upstream.requests[-1].partition(b"\r\n\r\n")[2])
        calls = question if isinstance(question, list) else [question]
        self.methods.append(calls[0]["method"])
        if self.instead is not None:
            await self.instead(upstream, writer)
            return
        answer = self.chain.answer(calls)
        replies = answer if isinstance(answer, list) else [answer]
        for call, reply in zip(calls, replies, strict=True):
            if "result" in reply:
                reply["result"] = self.spoil(call["method"], reply["result"])
        body = json.dumps(replies if isinstance(question, list) else replies[0]).encode()
        await replying("200 OK", body)(upstream, writer)


@asynccontextmanager
async def following(
    *nodes: OddNode, window_blocks: int = 3000, patience: timedelta = PATIENCE
) -> AsyncIterator[FailoverFollower]:
    """Yield a follower of these nodes, the first preferred."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(TRUST))
        clients = []
        for place, node in enumerate(nodes, start=1):
            upstream = await stack.enter_async_context(an_upstream(node.behave))
            url = Secret(f"http://127.0.0.1:{upstream.port}")
            endpoint = Endpoint(f"odd node {place}", url, patience)
            clients.append(NodeClient(HttpAsker(client, endpoint, RetryPolicy(attempts=1))))
        policy = FollowPolicy(FeePolicy(window_blocks=window_blocks))
        chain = ChainFollower(clients[0], NETWORK, policy, utc_now)
        yield FailoverFollower(chain, clients, NETWORK, elapsed)
