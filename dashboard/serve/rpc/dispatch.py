"""Dispatch of JSON-RPC: a message in, its answer out, for HTTP and WebSocket alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from anyio import CapacityLimiter, to_thread
from msgspec import UnsetType
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from dashboard.domain.people.access import ApiKey
from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.serve.counters import UNSERVED, Counters
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.serve.subscriptions import Session
from dashboard.transport.http_connection import HttpReply, json_reply
from dashboard.wire.jsonrpc import (
    NULL_ID,
    ErrorReply,
    Request,
    RequestId,
    RpcError,
    RpcMessage,
    batch_reply,
    error_reply,
    parse_message,
    result_reply,
    store_rpc_error,
)
from dashboard.wire.params import GET_STATUS
from dashboard.wire.status_request import (
    StatusRequest,
    decode_status_request,
    decode_status_requests,
)

QuickStatuses: TypeAlias = Callable[[StatusRequest, ApiKey], Awaitable[Mapping[int, bytes] | None]]
"""Answers status requests of the usual shape on the event loop, without a thread. Returns the
results that are not null, by position; None: let the method answer."""

CallResult: TypeAlias = bytes | RpcError
"""The result of one call as JSON, or the error for its caller."""

LARGEST_ANSWER: Final = 16_000_000
"""Once the answer to one message has this many bytes, no other of its calls is run."""

_log = get_logger(__name__)


class ThreadMethod(NamedTuple):
    """A method that runs in a thread; `limiter` bounds its threads.

    `run` takes the params of several calls at once and returns a result for each, in the same
    order; a StoreError fails them all.
    """

    run: Callable[[Sequence[Any], ApiKey], Sequence[CallResult]]
    limiter: CapacityLimiter


class AsyncMethod(NamedTuple):
    """A method that runs on the event loop; `run` is as in `ThreadMethod`."""

    run: Callable[[Sequence[Any], ApiKey], Awaitable[Sequence[CallResult]]]


class SessionMethod(NamedTuple):
    """A method for WebSockets alone; `run` takes the params of one call."""

    run: Callable[[Any, Session], Awaitable[CallResult]]


AnyMethod: TypeAlias = ThreadMethod | AsyncMethod | SessionMethod


class MessageAnswer(NamedTuple):
    """The answer to one message; `body` is None if all of it is notifications.

    `retry_after`: seconds to wait if the message exceeded its rate, else 0.
    """

    body: bytes | None
    retry_after: int = 0


class _CallContext:
    """The caller of the present messages; `session` is None over HTTP.

    `is_admitted`: all of its calls are admitted already. `is_full`: the present answer is as large
    as it may be.
    """

    __slots__ = ("caller", "is_admitted", "is_full", "largest_batch", "session")

    def __init__(self, caller: ApiKey, session: Session | None, largest_batch: int) -> None:
        self.caller = caller
        self.session = session
        # A key's burst bounds its batches: one that is larger would never be admitted.
        self.largest_batch = min(largest_batch, caller.burst or largest_batch)
        self.is_admitted = False
        self.is_full = False


class Dispatcher:
    """Answers messages by the methods that are served, within the limits of the caller's key."""

    def __init__(
        self,
        methods: Mapping[str, AnyMethod],
        key_limiter: KeyLimiter,
        counters: Counters,
        largest_batch: int,
        quick_statuses: QuickStatuses | None = None,
    ) -> None:
        """Answer `methods`, at most `largest_batch` in one message, as `key_limiter` allows.

        `quick_statuses` answers the most frequent method, under all of its full names.
        """
        self._methods = methods
        self._key_limiter = key_limiter
        self._counters = counters
        self._largest_batch = largest_batch
        self._quick_statuses = quick_statuses
        called_most = (name for name in methods if quick_statuses and _bare(name) == GET_STATUS)
        self._quick_names = frozenset(called_most)

    async def answer(
        self, body: bytes, caller: ApiKey, session: Session | None = None
    ) -> MessageAnswer:
        return await self._answer(body, _CallContext(caller, session, self._largest_batch))

    async def answer_all(
        self, bodies: Sequence[bytes], caller: ApiKey, session: Session | None = None
    ) -> list[bytes | None]:
        """Answer messages that had all been received before this call, in their order.

        Returns the `body` of each answer; beyond `LARGEST_ANSWER` bytes only those of the first
        messages: call it again with the others.
        """
        context = _CallContext(caller, session, self._largest_batch)
        quick = await self._quick_replies(bodies, context) if len(bodies) > 1 else None
        if quick is not None:
            return [*quick]
        replies: list[bytes | None] = []
        size = 0
        for body in bodies:
            reply = (await self._answer(body, context)).body
            replies.append(reply)
            size += len(reply or b"")
            if size > LARGEST_ANSWER and not context.is_admitted:
                break
        return replies

    async def _answer(self, body: bytes, context: _CallContext) -> MessageAnswer:
        request = self._read(body, context.largest_batch)
        calls = len(request.ids if isinstance(request, StatusRequest) else request.items)
        if not context.is_admitted and (wait := self._key_limiter.admit(context.caller, calls)):
            self._counters.count_rate_refusals(calls)
            return _refusal(parse_message(body, context.largest_batch), context, wait)
        if isinstance(request, StatusRequest):
            records = await self._quick_records(request, context)
            if records is not None:
                return MessageAnswer(request.reply(records))
            request = parse_message(body, context.largest_batch)
        return await self._answer_message(request, context)

    def _read(self, body: bytes, largest_batch: int) -> StatusRequest | RpcMessage:
        request = decode_status_request(body) if self._quick_names else None
        if request is None or request.method not in self._quick_names:
            return parse_message(body, largest_batch)
        return request if len(request.ids) <= largest_batch else parse_message(body, largest_batch)

    async def _quick_replies(
        self, bodies: Sequence[bytes], context: _CallContext
    ) -> Sequence[bytes] | None:
        """Answer messages of one status request each; None if any of them is another."""
        request = decode_status_requests(bodies) if self._quick_names else None
        if request is None or request.method not in self._quick_names:
            return None
        context.is_admitted = self._key_limiter.admit_together(context.caller, len(bodies))
        records = await self._quick_records(request, context) if context.is_admitted else None
        return None if records is None else request.replies(records)

    async def _quick_records(
        self, request: StatusRequest, context: _CallContext
    ) -> Mapping[int, bytes] | None:
        quick = self._quick_statuses
        if quick is None or not self._key_limiter.allows(context.caller, GET_STATUS):
            return None
        try:
            records = await quick(request, context.caller)
        except Exception:  # noqa: BLE001 - the method itself answers, or reports the error
            _log.exception("A quick answer failed unexpectedly", method=request.method)
            return None
        if records is not None:
            self._counters.count_calls(request.method, len(request.ids), 0)
        return records

    async def _answer_message(self, message: RpcMessage, context: _CallContext) -> MessageAnswer:
        """Answer a message of any shape.

        Calls run in the order of the batch, so that a look-up sees the report before it. Neighbours
        of the same method share a thread and a transaction.
        """
        replies: list[bytes] = []
        size = 0
        for name, items in groupby(message.items, key=_method_name):
            context.is_full = size > LARGEST_ANSWER
            neighbours = await self._answer_neighbours(name, list(items), context)
            size += sum(map(len, neighbours))
            replies += neighbours
        return _joined(message, replies)

    async def _answer_neighbours(
        self, name: str | None, items: Sequence[Request | ErrorReply], context: _CallContext
    ) -> list[bytes]:
        """Answer items of one method; malformed ones have no name."""
        if name is None:
            self._counters.count_calls(UNSERVED, len(items), len(items))
            return [error_reply(it.id, it.error) for it in items if isinstance(it, ErrorReply)]
        requests = [item for item in items if isinstance(item, Request)]
        results = await self._results(name, [request.params for request in requests], context)
        errors = sum(isinstance(result, RpcError) for result in results)
        self._counters.count_calls(
            name if name in self._methods else UNSERVED, len(results), errors
        )
        return [
            _reply(request.id, result)
            for request, result in zip(requests, results, strict=True)
            if not isinstance(request.id, UnsetType)
        ]

    async def _results(
        self, name: str, params: Sequence[Any], context: _CallContext
    ) -> Sequence[CallResult]:
        method = self._methods.get(name)
        if method is None:
            return [RpcError.method_not_found(name)] * len(params)
        if not self._key_limiter.allows(context.caller, _bare(name)):
            self._key_limiter.count_refusals(context.caller, len(params))
            return [RpcError.not_allowed()] * len(params)
        if context.is_full:
            return [RpcError.answer_too_large()] * len(params)
        try:
            return await _run(method, params, context)
        except StoreError as error:
            _log.warning("The store refused a call", method=name, why=str(error))
            return [store_rpc_error(error)] * len(params)
        except Exception:  # noqa: BLE001 - top of every call; its connection stays open
            _log.exception("A call failed unexpectedly", method=name)
            return [RpcError.internal_error()] * len(params)


async def _run(
    method: AnyMethod, params: Sequence[Any], context: _CallContext
) -> Sequence[CallResult]:
    match method:
        case ThreadMethod():
            run, limiter = method
            return await to_thread.run_sync(run, params, context.caller, limiter=limiter)
        case AsyncMethod():
            return await method.run(params, context.caller)
        case SessionMethod() if context.session is not None:
            return [await method.run(each, context.session) for each in params]
        case SessionMethod():
            return [RpcError.method_not_found("this method needs a WebSocket")] * len(params)


def _refusal(message: RpcMessage, context: _CallContext, wait: int) -> MessageAnswer:
    """Refuse a whole message: over HTTP with one error, over a WebSocket with one for each call."""
    error = RpcError.rate_exceeded(wait, context.caller.requests_per_second)
    if context.session is None:
        return MessageAnswer(error_reply(NULL_ID, error), wait)
    ids = [item.id for item in message.items]
    replies = [error_reply(each, error) for each in ids if not isinstance(each, UnsetType)]
    return _joined(message, replies)._replace(retry_after=wait)


def _joined(message: RpcMessage, replies: Sequence[bytes]) -> MessageAnswer:
    if not replies:
        return MessageAnswer(None)
    return MessageAnswer(batch_reply(replies) if message.is_batch else replies[0])


def _bare(name: str) -> str:
    """Return a method's name without its prefix, as in the limits of keys."""
    return name.partition("_")[2] or name


def _method_name(item: Request | ErrorReply) -> str | None:
    return item.method if isinstance(item, Request) else None


def _reply(request_id: RequestId, result: CallResult) -> bytes:
    if isinstance(result, RpcError):
        return error_reply(request_id, result)
    return result_reply(request_id, result)


INVALID_PROJECT_ID: Final = RpcError(-32002, "invalid project id")


class BodyTooLarge(Exception):
    """The body has more bytes than allowed."""


class HttpEndpoint:
    """Answers authenticated callers."""

    def __init__(self, rpc: Dispatcher, largest_body: int) -> None:
        """Pass bodies of at most `largest_body` bytes to `rpc`."""
        self._rpc = rpc
        self._largest_body = largest_body

    async def answer(self, receive: Receive, caller: ApiKey) -> HttpReply:
        try:
            body = await _read_body(receive, self._largest_body)
        except BodyTooLarge:
            error = RpcError.invalid_request(f"a body may hold {self._largest_body} bytes")
            return rpc_error(413, error, {"Connection": "close"})
        except ClientDisconnect:
            return HttpReply(200, [])  # the client has left
        answer = await self._rpc.answer(body, caller)
        if answer.retry_after:
            seconds = b"%d" % answer.retry_after
            return json_reply(answer.body or b"", 429, ((b"retry-after", seconds),))
        return HttpReply(204, []) if answer.body is None else json_reply(answer.body)


def rpc_error(status: int, error: RpcError, headers: Mapping[str, str] | None = None) -> HttpReply:
    """Return an error of the whole HTTP request, not of one call."""
    more = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return json_reply(error_reply(NULL_ID, error), status, more)


async def _read_body(receive: Receive, largest: int) -> bytes:
    """Read a body; one that comes in one piece, as nearly all do, is not copied."""
    body: bytes | bytearray = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        if len(body) + len(piece) > largest:
            raise BodyTooLarge
        has_more: bool = message.get("more_body", False)
        if not body and not has_more:
            return piece
        body = bytearray(body) if isinstance(body, bytes) else body
        body += piece
        if not has_more:
            return bytes(body)
