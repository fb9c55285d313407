"""JSON-RPC without a transport: one message in, its answer out, for HTTP and WebSocket alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from anyio import CapacityLimiter, to_thread
from msgspec import UnsetType

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.logs import get_logger
from dashboard.serve.gate import Gate
from dashboard.serve.keys import ApiKey
from dashboard.serve.metrics import UNSERVED, Counters
from dashboard.serve.session import Session
from dashboard.wire.jsonrpc import (
    NULL_ID,
    ErrorReply,
    Message,
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


class AsyncMethod(NamedTuple):
    """What answers one method on the event loop; `run` is as that of `Method`."""

    run: Callable[[Sequence[Any], ApiKey], Awaitable[Sequence[Outcome]]]


class SessionMethod(NamedTuple):
    """What answers one method of a WebSocket alone; `run` takes the params of one call."""

    run: Callable[[Any, Session], Awaitable[Outcome]]


AnyMethod: TypeAlias = Method | AsyncMethod | SessionMethod


class Answer(NamedTuple):
    """What one message is answered: `body` is None where all of it is notifications.

    `retry_after`: seconds to wait where the message was refused for its rate, else 0.
    """

    body: bytes | None
    retry_after: int = 0


class _Asker(NamedTuple):
    """Who asks; `session` is None over HTTP."""

    caller: ApiKey
    session: Session | None


class JsonRpc:
    """The methods that are served, by their full names."""

    def __init__(
        self,
        methods: Mapping[str, AnyMethod],
        gate: Gate,
        counters: Counters,
        largest_batch: int,
    ) -> None:
        """Answer `methods`, at most `largest_batch` of them in one message, as `gate` allows."""
        self._methods = methods
        self._gate = gate
        self._counters = counters
        self._largest_batch = largest_batch

    async def answer_all(
        self, bodies: Sequence[bytes], caller: ApiKey, session: Session | None = None
    ) -> list[Answer]:
        """Answer messages that had all been received before this call, in their order."""
        return [await self.answer(body, caller, session) for body in bodies]

    async def answer(self, body: bytes, caller: ApiKey, session: Session | None = None) -> Answer:
        """Answer one message.

        Calls run in the order of the batch, so that a report is seen by the question after it;
        neighbours that name the same method share a thread and a transaction.
        """
        # A key's burst bounds its batches: one that is larger would never be admitted.
        message = parse_message(body, min(self._largest_batch, caller.burst or self._largest_batch))
        calls = len(message.items)
        if wait := self._gate.admit(caller, calls):
            self._counters.refused_for_rate(calls)
            return _refusal(message, _Asker(caller, session), wait)
        replies: list[bytes] = []
        for name, items in groupby(message.items, key=_method_name):
            replies += await self._answer_alike(name, list(items), _Asker(caller, session))
        return _joined(message, replies)

    async def _answer_alike(
        self, name: str | None, items: Sequence[Request | ErrorReply], asker: _Asker
    ) -> list[bytes]:
        """Answer items that all name this method; None is the name of the malformed ones."""
        if name is None:
            self._counters.called(UNSERVED, len(items), len(items))
            return [
                error_reply(item.id, item.fault) for item in items if isinstance(item, ErrorReply)
            ]
        requests = [item for item in items if isinstance(item, Request)]
        outcomes = await self._outcomes(name, [request.params for request in requests], asker)
        faults = sum(isinstance(outcome, RpcFault) for outcome in outcomes)
        self._counters.called(name if name in self._methods else UNSERVED, len(outcomes), faults)
        return [
            _reply(request.id, outcome)
            for request, outcome in zip(requests, outcomes, strict=True)
            if not isinstance(request.id, UnsetType)
        ]

    async def _outcomes(self, name: str, params: Sequence[Any], asker: _Asker) -> Sequence[Outcome]:
        method = self._methods.get(name)
        if method is None:
            return [RpcFault.method_not_found(name)] * len(params)
        if not self._gate.allows(asker.caller, _bare(name)):
            self._gate.refused(asker.caller, len(params))
            return [RpcFault.not_allowed()] * len(params)
        try:
            return await _run(method, params, asker)
        except StoreError as error:
            _log.warning("The store refused a call", method=name, error=str(error))
            return [store_fault(error)] * len(params)
        except Exception:  # noqa: BLE001 - top of every call; its connection must go on
            _log.exception("A call failed unexpectedly", method=name)
            return [RpcFault.internal_error()] * len(params)


async def _run(method: AnyMethod, params: Sequence[Any], asker: _Asker) -> Sequence[Outcome]:
    match method:
        case Method():
            run, limiter = method
            return await to_thread.run_sync(run, params, asker.caller, limiter=limiter)
        case AsyncMethod():
            return await method.run(params, asker.caller)
        case SessionMethod() if asker.session is not None:
            return [await method.run(each, asker.session) for each in params]
        case SessionMethod():
            return [RpcFault.method_not_found("this method needs a WebSocket")] * len(params)


def _refusal(message: Message, asker: _Asker, wait: int) -> Answer:
    """Refuse a whole message: over HTTP the status says so, a WebSocket tells it of each call."""
    fault = RpcFault.rate_exceeded(wait, asker.caller.requests_per_second)
    if asker.session is None:
        return Answer(error_reply(NULL_ID, fault), wait)
    ids = [item.id for item in message.items]
    replies = [error_reply(each, fault) for each in ids if not isinstance(each, UnsetType)]
    return _joined(message, replies)._replace(retry_after=wait)


def _joined(message: Message, replies: Sequence[bytes]) -> Answer:
    if not replies:
        return Answer(None)
    return Answer(batch_reply(replies) if message.is_batch else replies[0])


def _bare(name: str) -> str:
    """Return a method's name without its prefix, as keys name it."""
    return name.partition("_")[2] or name


def store_fault(error: StoreError) -> RpcFault:
    """Tell a caller whether to try again; where the store is and what ails it, the log tells."""
    if isinstance(error, StoreUnavailable):
        remedy = "The store cannot be used now, and nothing was saved: try again later"
    else:
        remedy = "The store cannot be used until its operator mends it, and nothing was saved"
    return RpcFault.server_error(remedy)


def _method_name(item: Request | ErrorReply) -> str | None:
    return item.method if isinstance(item, Request) else None


def _reply(request_id: RequestId, outcome: Outcome) -> bytes:
    if isinstance(outcome, RpcFault):
        return error_reply(request_id, outcome)
    return result_reply(request_id, outcome)
