"""Dispatch: what a message is answered, over either transport."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from anyio import CapacityLimiter
from structlog.testing import capture_logs

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.errors import StoreError, StoreUnavailable
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.serve.rpc.dispatch import AnyMethod, CallResult, Dispatcher, ThreadMethod
from dashboard.wire.jsonrpc import RpcError

CALLER = ApiKey.of("tests", Secret("key"))


class Calls:
    """Methods that note who called them, and how many calls came at once."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, list[Any]]] = []
        self.trouble: StoreError = StoreUnavailable("disk full")

    def echo(self, params: Sequence[Any], caller: ApiKey) -> list[CallResult]:
        self.seen.append(("echo", caller.name, list(params)))
        return [json.dumps(each).encode() for each in params]

    def refuse(self, params: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
        return [RpcError.invalid_params("no") for _ in params]

    def fail(self, _params: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
        raise self.trouble

    def break_down(self, _params: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
        raise ZeroDivisionError("a mistake with details")


def an_rpc(methods: Mapping[str, AnyMethod]) -> Dispatcher:
    return Dispatcher(methods, KeyLimiter(), Counters(), largest_batch=5)


async def answer(message: Any, calls: Calls | None = None) -> Any:  # noqa: ANN401 - any JSON value
    calls = calls or Calls()
    methods = {
        "echo": ThreadMethod(calls.echo, CapacityLimiter(1)),
        "refuse": ThreadMethod(calls.refuse, CapacityLimiter(1)),
        "fail": ThreadMethod(calls.fail, CapacityLimiter(1)),
        "break": ThreadMethod(calls.break_down, CapacityLimiter(1)),
    }
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    reply = await an_rpc(methods).answer(body, CALLER)
    return None if reply.body is None else json.loads(reply.body)


def call(method: str, request_id: object = 1, params: object = ("a",)) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


async def test_fault_of_a_method_becomes_its_error() -> None:
    assert (await answer(call("refuse")))["error"] == {"code": -32602, "message": "no"}


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [(StoreUnavailable, "try again later"), (StoreError, "operator repairs it")],
)
async def test_store_failure_tells_whether_to_try_again_and_no_path(
    trouble: type[StoreError], remedy: str
) -> None:
    calls = Calls()
    calls.trouble = trouble("The store /home/me/linewatch.sqlite cannot be used now (disk full)")

    error = (await answer(call("fail"), calls))["error"]

    assert (error["code"], error["message"]) == (-32000, "Server error")
    assert remedy in error["data"]
    assert "/home" not in error["data"]


async def test_mistake_of_ours_is_an_internal_error_without_detail() -> None:
    with capture_logs() as logs:
        reply = await answer(call("break"))

    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert [line["method"] for line in logs] == ["break"]


async def test_batch_over_the_limit_is_refused_whole_and_runs_nothing() -> None:
    calls = Calls()

    reply = await answer([call("echo")] * 6, calls)

    assert reply["error"]["code"] == -32600
    assert "5" in reply["error"]["data"]
    assert calls.seen == []


async def test_neighbours_of_one_method_share_one_run_for_the_caller() -> None:
    calls = Calls()

    await answer([call("echo", 1), call("echo", 2), call("refuse", 3), call("echo", 4)], calls)

    assert calls.seen == [("echo", "tests", [["a"], ["a"]]), ("echo", "tests", [["a"]])]
