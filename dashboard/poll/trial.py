"""Try the endpoints of a network: ask each question once, and report the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.formatting import fee, span
from dashboard.domain.health.observation import (
    FEE_OPERATIONS,
    AnswerShape,
    Operation,
    TrialOutcome,
    TrialResult,
)
from dashboard.domain.quantity import NetworkId, TxHash, Wei
from dashboard.errors import UpstreamError
from dashboard.poll.gas_api_or_node import GasAsker
from dashboard.poll.lease import Clocks
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader

UNUSED_HASHES: Final = (TxHash(bytes(31) + b"\x01"), TxHash(bytes(31) + b"\x02"))
"""Hashes of no transaction."""

_NOT_THERE: Final = {
    "WebSocket": "not configured, and not at this address: HTTP is used; if the endpoint has a "
    "WebSocket address, set websocket_url",
    "HTTP": "not configured, and not at this address: WebSocket is used",
}


class Trial(Struct, frozen=True):
    """Asks, with the clock that times the answers."""

    clocks: Clocks

    async def exclusion(
        self,
        client: ExclusionClient,
        other: ExclusionClient,
        transport: str,
        *,
        is_configured: bool = False,
    ) -> AsyncIterator[TrialResult]:
        """Try one hash, then two in a batch, then one over the `other` `transport`.

        Without an address of its own (`is_configured`), that is tried at the address of the first:
        many gateways have it elsewhere, or not at all, which does not count as a failure.
        """
        single = await self._ask("exclusion", "one hash", lambda: _single(client))
        yield single
        if single.outcome is not TrialOutcome.GOOD:
            return
        yield await self._ask("exclusion", "batch of two hashes", lambda: _batch(client))
        found = await self._ask("exclusion", f"one hash over {transport}", lambda: _single(other))
        if found.outcome is TrialOutcome.FAILED and not is_configured:
            found = replace(found, outcome=TrialOutcome.ABSENT, found=_NOT_THERE[transport])
        yield found

    async def gas(self, asker: GasAsker) -> AsyncIterator[TrialResult]:
        """Try the four operations."""
        for operation in (each for each in Operation if each in FEE_OPERATIONS):
            yield await self._ask("gas", operation, partial(_fees, asker, operation))

    async def node(self, client: NodeClient, network_id: NetworkId) -> AsyncIterator[TrialResult]:
        """Try what nodes are asked: the network, its newest block, fees, receipts, a batch."""
        identity = await self._ask("node", "eth_chainId", lambda: _network(client, network_id))
        yield identity
        if identity.outcome is not TrialOutcome.GOOD:
            return
        now = self.clocks.now()
        yield await self._ask("node", "eth_getBlockByNumber", lambda: _head(client, now))
        yield await self._ask("node", "eth_feeHistory", lambda: _fee_history(client))
        yield await self._ask("node", "eth_getTransactionReceipt", lambda: _receipt(client))
        yield await self._ask(
            "node", "batch of two receipts", lambda: _receipts(client), TrialOutcome.ABSENT
        )

    async def _ask(
        self,
        endpoint: str,
        question: str,
        ask: Callable[[], Awaitable[tuple[TrialOutcome, str]]],
        worst: TrialOutcome = TrialOutcome.FAILED,
    ) -> TrialResult:
        started = self.clocks.elapsed()
        try:
            outcome, found = await ask()
        except UpstreamError as error:
            outcome, found = worst, str(error)
        return TrialResult(endpoint, question, outcome, found, self.clocks.elapsed() - started)


async def _single(client: ExclusionClient) -> tuple[TrialOutcome, str]:
    [answer] = await client.ask(UNUSED_HASHES[:1])
    if answer.failure is not None:
        raise UpstreamError(answer.failure.message)
    shape = {None: "null, so its shape is not known yet", AnswerShape.STATUS: "with a status"}
    return TrialOutcome.GOOD, f"answered {shape.get(answer.shape, 'with a record')}"


async def _batch(client: ExclusionClient) -> tuple[TrialOutcome, str]:
    answers = await client.ask(UNUSED_HASHES)
    if client.batch_size < len(UNUSED_HASHES):
        return TrialOutcome.ABSENT, "refused; hashes are asked one by one"
    failures = [answer.failure for answer in answers if answer.failure is not None]
    if failures:
        raise UpstreamError(failures[0].message)
    return TrialOutcome.GOOD, "accepted"


async def _fees(asker: GasAsker, operation: Operation) -> tuple[TrialOutcome, str]:
    answer = await asker.ask(operation)
    if operation is Operation.SUGGESTED_GAS_FEES:
        return TrialOutcome.GOOD, f"base fee {_in_words(answer.estimated_base_fee)}"
    if operation is Operation.BASE_FEE_HISTORY:
        return TrialOutcome.GOOD, f"{len(answer)} blocks"
    return TrialOutcome.GOOD, _in_words(answer)


async def _network(client: NodeClient, network_id: NetworkId) -> tuple[TrialOutcome, str]:
    await client.check_network(network_id)
    return TrialOutcome.GOOD, f"network {network_id}"


async def _head(client: NodeClient, now: datetime) -> tuple[TrialOutcome, str]:
    head = await _newest(client)
    return (
        TrialOutcome.GOOD,
        f"block {head.number}, {span(max(timedelta(), now - head.timestamp))} old",
    )


async def _fee_history(client: NodeClient) -> tuple[TrialOutcome, str]:
    head = await _newest(client)
    history = await client.fee_history(min(5, head.number + 1), head.number, (10, 50))
    if history is None:
        return (
            TrialOutcome.ABSENT,
            "refused; base fees come from block headers, without priority fees",
        )
    if not history.reward:
        return TrialOutcome.ABSENT, "answered without rewards, so priority fees are the floors"
    return TrialOutcome.GOOD, f"{len(history.gas_used_ratio)} blocks with rewards"


async def _newest(client: NodeClient) -> BlockHeader:
    head = await client.block("latest")
    if head is None:
        raise UpstreamError(f"{client.endpoint.name}: it has no newest block")
    return head


async def _receipt(client: NodeClient) -> tuple[TrialOutcome, str]:
    await client.receipt(UNUSED_HASHES[0])
    return TrialOutcome.GOOD, "answered"


async def _receipts(client: NodeClient) -> tuple[TrialOutcome, str]:
    await client.receipts(UNUSED_HASHES)
    return TrialOutcome.GOOD, "accepted"


def _in_words(wei: Wei) -> str:
    return " ".join(fee(wei))
