"""JSON-RPC without a transport: one message in, its answer out, for HTTP and WebSocket alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from anyio import CapacityLimiter, to_thread
from msgspec import UnsetType

from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.serve.counters import UNSERVED, Counters
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.keys.rate_limits import Gate
from dashboard.serve.subscriptions.subscription import Session
from dashboard.wire.exclusion import GET_STATUS
from dashboard.wire.jsonrpc import (
    NULL_ID,
    ErrorReply,
    Message,
    Request,
    RequestId,
    batch_reply,
    error_reply,
    parse_message,
    result_reply,
)
from dashboard.wire.jsonrpc_errors import RpcFault, store_fault
from dashboard.wire.status_requests import Lookup, decode_lookup, decode_lookups


class QuickAnswers(Protocol):
    """Answers lookups of the usual shape on the event loop, without a thread."""

    def is_current(self) -> bool:
        """Whether `records` may be called for messages that had come before this call."""

    async def look(self) -> bool:
        """Find the same out where that takes a while."""

    async def records(self, lookup: Lookup, caller: ApiKey) -> Mapping[int, bytes] | None:
        """Return what is not null, by the place of its call; None: let the method answer."""

    def outdate(self) -> None:
        """Look again before the next answer: another message was answered, perhaps a report."""


Outcome: TypeAlias = bytes | RpcFault
"""What one call came to: its result as JSON, or the fault that its caller is told."""

LARGEST_ANSWER: Final = 16_000_000
"""Bytes of one message's answer after which no other of its calls is run."""

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


class _Turn:
    """Whose messages are answered; `session` is None over HTTP.

    `is_current`: whether the quick answers have looked at the store since the messages came, and
    no other message has been answered since, which may have saved something. `is_admitted`: the
    gate has let in all of its calls already. `is_full`: the present answer is large enough.
    """

    __slots__ = ("caller", "is_admitted", "is_current", "is_full", "largest_batch", "session")

    def __init__(self, caller: ApiKey, session: Session | None, largest_batch: int) -> None:
        self.caller = caller
        self.session = session
        # A key's burst bounds its batches: one that is larger would never be admitted.
        self.largest_batch = min(largest_batch, caller.burst or largest_batch)
        self.is_current = False
        self.is_admitted = False
        self.is_full = False


class JsonRpc:
    """The methods that are served, by their full names."""

    def __init__(
        self,
        methods: Mapping[str, AnyMethod],
        gate: Gate,
        counters: Counters,
        largest_batch: int,
        quick: QuickAnswers | None = None,
    ) -> None:
        """Answer `methods`, at most `largest_batch` of them in one message, as `gate` allows.

        `quick` is for the method that is asked most, and answers under its every full name.
        """
        self._methods = methods
        self._gate = gate
        self._counters = counters
        self._largest_batch = largest_batch
        self._quick = quick
        is_asked_most = (name for name in methods if quick and _bare(name) == GET_STATUS)
        self._quick_names = frozenset(is_asked_most)

    async def answer(self, body: bytes, caller: ApiKey, session: Session | None = None) -> Answer:
        """Answer one message."""
        return await self._answer(body, _Turn(caller, session, self._largest_batch))

    async def answer_all(
        self, bodies: Sequence[bytes], caller: ApiKey, session: Session | None = None
    ) -> list[bytes | None]:
        """Answer messages that had all been received before this call, in their order.

        One look at the store is fresh enough for all lookups up to the next other message.
        Returns the `body` of each answer; where they grow beyond `LARGEST_ANSWER`, those of the
        first messages alone, and wants to be called again with the others.
        """
        turn = _Turn(caller, session, self._largest_batch)
        quick = await self._quick_replies(bodies, turn) if len(bodies) > 1 else None
        if quick is not None:
            return [*quick]
        replies: list[bytes | None] = []
        size = 0
        for body in bodies:
            reply = (await self._answer(body, turn)).body
            replies.append(reply)
            size += len(reply or b"")
            if size > LARGEST_ANSWER and not turn.is_admitted:
                break
        return replies

    async def _answer(self, body: bytes, turn: _Turn) -> Answer:
        asked = self._read(body, turn.largest_batch)
        calls = len(asked.ids if isinstance(asked, Lookup) else asked.items)
        if not turn.is_admitted and (wait := self._gate.admit(turn.caller, calls)):
            self._counters.refused_for_rate(calls)
            return _refusal(parse_message(body, turn.largest_batch), turn, wait)
        if isinstance(asked, Lookup):
            records = await self._quick_records(asked, turn)
            if records is not None:
                return Answer(asked.answered(records))
            asked = parse_message(body, turn.largest_batch)
        turn.is_current = False
        answer = await self._answer_message(asked, turn)
        if self._quick:
            self._quick.outdate()
        return answer

    def _read(self, body: bytes, largest_batch: int) -> Lookup | Message:
        lookup = decode_lookup(body) if self._quick_names else None
        if lookup is None or lookup.method not in self._quick_names:
            return parse_message(body, largest_batch)
        return lookup if len(lookup.ids) <= largest_batch else parse_message(body, largest_batch)

    async def _quick_replies(self, bodies: Sequence[bytes], turn: _Turn) -> Sequence[bytes] | None:
        """Answer messages of one lookup each; None where any of them is something else."""
        lookup = decode_lookups(bodies) if self._quick_names else None
        if lookup is None or lookup.method not in self._quick_names:
            return None
        turn.is_admitted = self._gate.admit_together(turn.caller, len(bodies))
        records = await self._quick_records(lookup, turn) if turn.is_admitted else None
        return None if records is None else lookup.answers(records)

    async def _quick_records(self, lookup: Lookup, turn: _Turn) -> Mapping[int, bytes] | None:
        quick = self._quick
        if quick is None or not self._gate.allows(turn.caller, GET_STATUS):
            return None
        try:
            turn.is_current = turn.is_current or quick.is_current() or await quick.look()
            records = await quick.records(lookup, turn.caller) if turn.is_current else None
        except Exception:  # noqa: BLE001 - the method itself answers, or tells what is wrong
            _log.exception("A quick answer failed unexpectedly", method=lookup.method)
            return None
        if records is not None:
            self._counters.called(lookup.method, len(lookup.ids), 0)
        return records

    async def _answer_message(self, message: Message, turn: _Turn) -> Answer:
        """Answer a message of any shape.

        Calls run in the order of the batch, so that a report is seen by the question after it;
        neighbours that name the same method share a thread and a transaction.
        """
        replies: list[bytes] = []
        size = 0
        for name, items in groupby(message.items, key=_method_name):
            turn.is_full = size > LARGEST_ANSWER
            alike = await self._answer_alike(name, list(items), turn)
            size += sum(map(len, alike))
            replies += alike
        return _joined(message, replies)

    async def _answer_alike(
        self, name: str | None, items: Sequence[Request | ErrorReply], turn: _Turn
    ) -> list[bytes]:
        """Answer items that all name this method; None is the name of the malformed ones."""
        if name is None:
            self._counters.called(UNSERVED, len(items), len(items))
            return [error_reply(it.id, it.fault) for it in items if isinstance(it, ErrorReply)]
        requests = [item for item in items if isinstance(item, Request)]
        outcomes = await self._outcomes(name, [request.params for request in requests], turn)
        faults = sum(isinstance(outcome, RpcFault) for outcome in outcomes)
        self._counters.called(name if name in self._methods else UNSERVED, len(outcomes), faults)
        return [
            _reply(request.id, outcome)
            for request, outcome in zip(requests, outcomes, strict=True)
            if not isinstance(request.id, UnsetType)
        ]

    async def _outcomes(self, name: str, params: Sequence[Any], turn: _Turn) -> Sequence[Outcome]:
        method = self._methods.get(name)
        if method is None:
            return [RpcFault.method_not_found(name)] * len(params)
        if not self._gate.allows(turn.caller, _bare(name)):
            self._gate.refused(turn.caller, len(params))
            return [RpcFault.not_allowed()] * len(params)
        if turn.is_full:
            return [RpcFault.answer_too_large()] * len(params)
        try:
            return await _run(method, params, turn)
        except StoreError as error:
            _log.warning("The store refused a call", method=name, error=str(error))
            return [store_fault(error)] * len(params)
        except Exception:  # noqa: BLE001 - top of every call; its connection must go on
            _log.exception("A call failed unexpectedly", method=name)
            return [RpcFault.internal_error()] * len(params)


async def _run(method: AnyMethod, params: Sequence[Any], turn: _Turn) -> Sequence[Outcome]:
    match method:
        case Method():
            run, limiter = method
            return await to_thread.run_sync(run, params, turn.caller, limiter=limiter)
        case AsyncMethod():
            return await method.run(params, turn.caller)
        case SessionMethod() if turn.session is not None:
            return [await method.run(each, turn.session) for each in params]
        case SessionMethod():
            return [RpcFault.method_not_found("this method needs a WebSocket")] * len(params)


def _refusal(message: Message, turn: _Turn, wait: int) -> Answer:
    """Refuse a whole message: over HTTP the status says so, a WebSocket tells it of each call."""
    fault = RpcFault.rate_exceeded(wait, turn.caller.requests_per_second)
    if turn.session is None:
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


def _method_name(item: Request | ErrorReply) -> str | None:
    return item.method if isinstance(item, Request) else None


def _reply(request_id: RequestId, outcome: Outcome) -> bytes:
    if isinstance(outcome, RpcFault):
        return error_reply(request_id, outcome)
    return result_reply(request_id, outcome)
