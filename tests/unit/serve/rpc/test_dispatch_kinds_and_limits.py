"""Dispatch: kinds of methods, and the limits of keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.serve.rpc.dispatch import (
    LARGEST_ANSWER,
    AnyMethod,
    AsyncMethod,
    CallResult,
    Dispatcher,
    MessageAnswer,
    SessionMethod,
)
from dashboard.serve.subscriptions import Session

CALLER = ApiKey.of("tests", Secret("key"))


def an_rpc(methods: Mapping[str, AnyMethod], key_limiter: KeyLimiter | None = None) -> Dispatcher:
    return Dispatcher(methods, key_limiter or KeyLimiter(), Counters(), largest_batch=5)


def call(method: str, request_id: object = 1, params: object = ("a",)) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": ["n"]}


class WebSocketSession:
    """A WebSocket that nobody is told anything over."""

    caller = CALLER

    def push(self, text: bytes) -> bool:
        return not text

    def on_close(self, callback: Callable[[], None]) -> None:
        callback()

    async def room(self) -> None: ...

    def when_answered(self, callback: Callable[[], None]) -> None: ...


class Impatient(KeyLimiter):
    """Lets nobody in for three seconds."""

    def admit(self, caller: ApiKey, calls: int) -> int:
        return 3 if caller is CALLER and calls else 0


class Strict(KeyLimiter):
    """Opens one method."""

    def allows(self, caller: ApiKey, method: str) -> bool:
        return caller is CALLER and method == "allowedV1"


async def greet(params: Any, session: Session) -> CallResult:  # noqa: ANN401 - any JSON value
    return json.dumps([params, session.caller.name]).encode()


async def count(params: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
    return [b"%d" % len(params)] * len(params)


def loads(answered: MessageAnswer) -> Any:  # noqa: ANN401 - any JSON value
    return None if answered.body is None else json.loads(answered.body)


def bodies(*messages: object) -> list[bytes]:
    return [json.dumps(message).encode() for message in messages]


async def test_method_of_a_websocket_is_given_its_session() -> None:
    (body,) = bodies(call("greet"))

    answered = await an_rpc({"greet": SessionMethod(greet)}).answer(
        body, CALLER, WebSocketSession()
    )

    assert loads(answered)["result"] == [["a"], "tests"]


async def test_method_of_a_websocket_is_not_found_over_http_and_says_why() -> None:
    (body,) = bodies(call("greet"))

    error = loads(await an_rpc({"greet": SessionMethod(greet)}).answer(body, CALLER))["error"]

    assert (error["code"], error["message"]) == (-32601, "Method not found")
    assert "WebSocket" in error["data"]


async def test_method_on_the_event_loop_takes_neighbours_together() -> None:
    (body,) = bodies([call("count", 1), call("count", 2)])

    answered = await an_rpc({"count": AsyncMethod(count)}).answer(body, CALLER)

    assert [reply["result"] for reply in loads(answered)] == [2, 2]


async def test_method_that_the_key_does_not_open_is_refused_alone() -> None:
    methods = {"acme_allowedV1": AsyncMethod(count), "acme_other": AsyncMethod(count)}
    (body,) = bodies([call("acme_other", 1), call("acme_allowedV1", 2), call("nope", 3)])

    replies = loads(await an_rpc(methods, Strict()).answer(body, CALLER))

    assert [reply.get("error", {}).get("code") for reply in replies] == [-32002, None, -32601]


async def test_message_over_the_rate_is_refused_with_the_time_to_wait() -> None:
    (body,) = bodies([call("count"), call("count")])

    answered = await an_rpc({"count": AsyncMethod(count)}, Impatient()).answer(body, CALLER)

    assert answered.retry_after == 3
    assert loads(answered)["id"] is None
    assert loads(answered)["error"] == {
        "code": -32005,
        "message": "project ID request rate exceeded",
        "data": {"backoff_seconds": 3, "allowed_rps": None},
    }


async def test_message_over_the_rate_is_refused_call_by_call_over_a_websocket() -> None:
    (body,) = bodies([call("count", "x"), notification("count"), call("count", 2)])
    rpc = an_rpc({"count": AsyncMethod(count)}, Impatient())

    answered = await rpc.answer(body, CALLER, WebSocketSession())

    assert [(reply["id"], reply["error"]["code"]) for reply in loads(answered)] == [
        ("x", -32005),
        (2, -32005),
    ]


async def fill(params: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
    return [b" " * LARGEST_ANSWER + b"1"] * len(params)


async def test_calls_after_a_large_answer_are_refused_and_not_run() -> None:
    rpc = an_rpc({"fill": AsyncMethod(fill), "count": AsyncMethod(count)})
    (body,) = bodies([call("fill", 1), call("count", 2), call("nope", 3)])

    replies = loads(await rpc.answer(body, CALLER))

    assert [reply.get("error", {}).get("code") for reply in replies] == [None, -32003, -32601]
    (again,) = bodies([call("count", 4)])
    assert loads(await rpc.answer(again, CALLER))[0]["result"] == 1


async def test_messages_received_together_are_answered_in_their_order() -> None:
    rpc = an_rpc({"count": AsyncMethod(count)})

    replies = await rpc.answer_all(bodies(call("count", 1), notification("count"), 7), CALLER)

    assert [reply and json.loads(reply)["id"] for reply in replies] == [1, None, None]
    assert replies[1] is None


async def test_large_answers_are_handed_out_before_the_rest_is_asked() -> None:
    rpc = an_rpc({"fill": AsyncMethod(fill), "count": AsyncMethod(count)})
    sent = bodies(call("count", 1), call("fill", 2), call("fill", 3), call("count", 4))

    replies = await rpc.answer_all(sent, CALLER)

    assert len(replies) == 2
