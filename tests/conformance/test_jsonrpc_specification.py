"""The examples of the JSON-RPC 2.0 specification, section 7, as our server answers them.

Its methods are served by a small table of our own. We add `data` to some errors, which the
specification leaves open; everything else is compared whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from anyio import CapacityLimiter

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.serve.rpc.dispatch import CallResult, Dispatcher, ThreadMethod

PARSE_ERROR = '{"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}'
INVALID = '{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}'
NO_METHOD = '"error": {"code": -32601, "message": "Method not found"}'

EXAMPLES: dict[str, tuple[str, str]] = {
    "positional parameters": (
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
        '{"jsonrpc": "2.0", "result": 19, "id": 1}',
    ),
    "positional parameters, the other way round": (
        '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
        '{"jsonrpc": "2.0", "result": -19, "id": 2}',
    ),
    "named parameters": (
        (
            '{"jsonrpc": "2.0", "method": "subtract", '
            '"params": {"subtrahend": 23, "minuend": 42}, "id": 3}'
        ),
        '{"jsonrpc": "2.0", "result": 19, "id": 3}',
    ),
    "named parameters in another order": (
        (
            '{"jsonrpc": "2.0", "method": "subtract", '
            '"params": {"minuend": 42, "subtrahend": 23}, "id": 4}'
        ),
        '{"jsonrpc": "2.0", "result": 19, "id": 4}',
    ),
    "a notification": ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', ""),
    "a notification of no method": ('{"jsonrpc": "2.0", "method": "foobar"}', ""),
    "a method that does not exist": (
        '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
        f'{{"jsonrpc": "2.0", {NO_METHOD}, "id": "1"}}',
    ),
    "invalid JSON": (
        '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
        PARSE_ERROR,
    ),
    "an invalid request": ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', INVALID),
    "a batch of invalid JSON": (
        (
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
            '{"jsonrpc": "2.0", "method"]'
        ),
        PARSE_ERROR,
    ),
    "an empty array": ("[]", INVALID),
    "an invalid batch that is not empty": ("[1]", f"[{INVALID}]"),
    "an invalid batch": ("[1,2,3]", f"[{INVALID},{INVALID},{INVALID}]"),
    "a batch": (
        """[
            {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
            {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
            {"foo": "boo"},
            {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
            {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
        ]""",
        f"""[
            {{"jsonrpc": "2.0", "result": 7, "id": "1"}},
            {{"jsonrpc": "2.0", "result": 19, "id": "2"}},
            {INVALID},
            {{"jsonrpc": "2.0", {NO_METHOD}, "id": "5"}},
            {{"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}}
        ]""",
    ),
    "a batch of notifications": (
        """[
            {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
        ]""",
        "",
    ),
}


def subtract(params: Any) -> int:  # noqa: ANN401 - a list or an object of numbers
    difference = [params["minuend"], params["subtrahend"]] if isinstance(params, dict) else params
    return int(difference[0] - difference[1])


def each(answer: Callable[[Any], object]) -> ThreadMethod:
    """Serve a function of one call's params."""

    def run(calls: Sequence[Any], _caller: ApiKey) -> list[CallResult]:
        return [json.dumps(answer(params)).encode() for params in calls]

    return ThreadMethod(run, CapacityLimiter(1))


METHODS = {
    "subtract": each(subtract),
    "sum": each(sum),
    "update": each(lambda _: None),
    "notify_hello": each(lambda _: None),
    "notify_sum": each(lambda _: None),
    "get_data": each(lambda _: ["hello", 5]),
}


def without_data(reply: Any) -> Any:  # noqa: ANN401 - a reply, or several
    """Take the explanations out of errors."""
    if isinstance(reply, list):
        return [without_data(each) for each in reply]
    if "error" in reply:
        reply["error"].pop("data", None)
    return reply


@pytest.mark.parametrize(("request_text", "response"), EXAMPLES.values(), ids=EXAMPLES.keys())
async def test_example_of_the_specification_is_answered_as_it_says(
    request_text: str, response: str
) -> None:
    rpc = Dispatcher(METHODS, KeyLimiter(), Counters(), largest_batch=10)

    answer = await rpc.answer(request_text.encode(), ApiKey.of("tests", Secret("key")))

    if response:
        assert without_data(json.loads(answer.body or b"")) == json.loads(response)
    else:
        assert answer.body is None
