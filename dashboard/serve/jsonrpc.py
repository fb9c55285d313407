"""JSON-RPC without a transport: one message in, its answer out, for HTTP and WebSocket alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from anyio import CapacityLimiter, to_thread
from msgspec import UnsetType

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.logs import get_logger
from dashboard.serve.keys import ApiKey
from dashboard.wire.jsonrpc import (
    ErrorReply,
    Request,
    RequestId,
    RpcFault,
    batch_reply,
    error_reply,
    parse_message,
    result_reply,
)

Outcome: TypeAlias = bytes | RpcFault
"""What one call came to: its result as JSON, or the fault that its caller is told."""

_log = get_logger(__name__)


class Method(NamedTuple):
    """What answers one method.

    `run` takes the params of several calls at once, in a thread, and returns one outcome for
    each in the same order; a StoreError fails them all. `limiter` bounds its threads.
    """

    run: Callable[[Sequence[Any], ApiKey], Sequence[Outcome]]
    limiter: CapacityLimiter


class JsonRpc:
    """The methods that are served, by their full names."""

    def __init__(self, methods: Mapping[str, Method], largest_batch: int) -> None:
        """Answer `methods`, at most `largest_batch` of them in one message."""
        self._methods = methods
        self._largest_batch = largest_batch

    async def answer(self, body: bytes, caller: ApiKey) -> bytes | None:
        """Answer one message; None when all of it is notifications, which get no reply.

        Calls run in the order of the batch, so that a report is seen by the question after it;
        neighbours that name the same method share a thread and a transaction.
        """
        message = parse_message(body, self._largest_batch)
        replies: list[bytes] = []
        for name, items in groupby(message.items, key=_method_name):
            replies += await self._answer_alike(name, list(items), caller)
        if not replies:
            return None
        return batch_reply(replies) if message.is_batch else replies[0]

    async def _answer_alike(
        self, name: str | None, items: Sequence[Request | ErrorReply], caller: ApiKey
    ) -> list[bytes]:
        """Answer items that all name this method; None is the name of the malformed ones."""
        if name is None:
            return [
                error_reply(item.id, item.fault) for item in items if isinstance(item, ErrorReply)
            ]
        requests = [item for item in items if isinstance(item, Request)]
        outcomes = await self._outcomes(name, [request.params for request in requests], caller)
        return [
            _reply(request.id, outcome)
            for request, outcome in zip(requests, outcomes, strict=True)
            if not isinstance(request.id, UnsetType)
        ]

    async def _outcomes(
        self, name: str, params: Sequence[Any], caller: ApiKey
    ) -> Sequence[Outcome]:
        method = self._methods.get(name)
        if method is None:
            return [RpcFault.method_not_found(name)] * len(params)
        try:
            return await to_thread.run_sync(method.run, params, caller, limiter=method.limiter)
        except StoreError as error:
            _log.warning("The store refused a call", method=name, error=str(error))
            return [RpcFault.server_error(_without_details(error))] * len(params)
        except Exception:  # noqa: BLE001 - top of every call; its connection must go on
            _log.exception("A call failed unexpectedly", method=name)
            return [RpcFault.internal_error()] * len(params)


def _without_details(error: StoreError) -> str:
    """Tell a caller whether to try again; where the store is and what ails it, the log tells."""
    if isinstance(error, StoreUnavailable):
        return "The store cannot be used now, and nothing was saved: try again later"
    return "The store cannot be used until its operator mends it, and nothing was saved"


def _method_name(item: Request | ErrorReply) -> str | None:
    return item.method if isinstance(item, Request) else None


def _reply(request_id: RequestId, outcome: Outcome) -> bytes:
    if isinstance(outcome, RpcFault):
        return error_reply(request_id, outcome)
    return result_reply(request_id, outcome)
