"""Health: whether this process lives, and whether it can answer."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import anyio
from anyio import to_thread
from starlette.responses import JSONResponse, Response

from dashboard.domain.printing import span
from dashboard.domain.quantity import TxHash
from dashboard.errors import StoreError
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.gas.followed_networks import NetworkFees
from dashboard.store.rejections.read import queryable_record

_ANY_HASH: Final = TxHash(bytes(TxHash.LENGTH))
_STALLED_AFTER_BLOCKS: Final = 10
_LOOK_HOLDS: Final = 1.0
"""Seconds for which a look at the store is taken again: anybody may ask for one."""


def live() -> Response:
    """Answer that the process answers."""
    return JSONResponse({"status": "OK"})


class Readiness:
    """Whether the store can be read, written and asked fast, and each followed node keeps up.

    A node keeps up while it answers and its newest block is young. Gas replies ask for less,
    only that it answers: a chain that mines on demand is idle and its fees still hold.
    """

    def __init__(self, services: ServeServices, fees: Collection[NetworkFees]) -> None:
        """Judge the store of `services` and the nodes of `fees`."""
        self._services = services
        self._fees = fees
        self._one_at_a_time = anyio.Lock()
        self._looked_at = -_LOOK_HOLDS
        self._store_trouble: str | None = None

    async def answer(self) -> Response:
        """Answer 200 when all is well, else 503 with every reason."""
        now, oldest = self._services.clock(), self._services.limits.oldest_fees
        reasons = [await self._trouble_of_store(), self._trouble_of_lookups()]
        reasons += [trouble_of_node(network, now, oldest) for network in self._fees]
        reasons = [reason for reason in reasons if reason is not None]
        nodes = nodes_of(self._fees)
        if reasons:
            trouble = {"status": "UNAVAILABLE", "reasons": reasons, **nodes}
            return JSONResponse(trouble, status_code=503)
        return JSONResponse({"status": "OK", **nodes})

    async def store_is_up(self) -> bool:
        """Whether the store can be read and written."""
        return await self._trouble_of_store() is None

    async def _trouble_of_store(self) -> str | None:
        async with self._one_at_a_time:
            if anyio.current_time() - self._looked_at >= _LOOK_HOLDS:
                self._store_trouble = await to_thread.run_sync(self._look_at_store)
                self._looked_at = anyio.current_time()
            return self._store_trouble

    def _trouble_of_lookups(self) -> str | None:
        """Say that lookups are still slow, though right: seconds after the start, mostly."""
        is_loaded = self._services.known.is_loaded
        return None if is_loaded else "The hashes on record are being read: lookups are slow."

    def _look_at_store(self) -> str | None:
        """Read as a question about a hash does, see if it could write; say what fails."""
        store, verb = self._services.store, "read"
        try:
            with store.read() as connection:
                queryable_record(connection, (), _ANY_HASH, self._services.clock())
            verb = "written"
            store.check_writing()
        except StoreError as error:
            return f"The store cannot be {verb}: {error}".replace(store.name, "it")
        return None


def nodes_of(fees: Collection[NetworkFees]) -> dict[str, object]:
    """Return how each node of the networks stands that have several; nothing where none has."""
    told = {
        network.name: [
            {"node": each.name, "state": each.state, "why": each.why}
            for each in network.follower.standings
        ]
        for network in fees
        if len(network.follower.standings) > 1
    }
    return {"nodes": told} if told else {}


def trouble_of_node(network: NetworkFees, now: datetime, oldest: timedelta) -> str | None:
    """Say what is wrong with a followed node, None where nothing is.

    A node is stalled when its newest block is older than `oldest` and than ten block times,
    though it answers: it lost its peers, or nothing is mined.
    """
    replies = network.replies
    if network.loading is not None:
        return network.loading
    if replies is None:
        return f"The node of {network.name} has not answered yet."
    silence = now - replies.read_at
    if silence > oldest:
        return f"The node of {network.name} last answered {span(silence)} ago."
    head = replies.fees.head
    age = now - head.timestamp
    if age > max(oldest, _STALLED_AFTER_BLOCKS * replies.block_time):
        seconds = f"{age.total_seconds():.0f} s"
        return f"The node of {network.name} is stalled: block {head.number} is {seconds} old."
    return None
