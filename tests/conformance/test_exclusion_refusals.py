"""What the exclusion RPC refuses, with the codes and words that upstream's clients know.

Lines of the contract: every code and message of both methods, that each is sent with HTTP 200 and
with the id of its call; which request is none at all; that a method is looked up before its params.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.running_apis import GET, LIMITS, SAVE, UNKNOWN_HASH, Served, a_former_report
from tests.integration.running_server import a_signed_transaction

HASH = "Hex string of transaction hash cannot be parsed:"
RLP = "RLP-encoded transaction cannot be parsed:"
REQUIRED = "txRejectionStage,timestamp,reasonMessage,transactionRLP,overflows"
TRANSACTION = a_signed_transaction(1)


def report(**changes: object) -> dict[str, Any]:
    return a_former_report(TRANSACTION, **changes)


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in report().items() if key not in keys}


WORD_FOR_WORD = {
    "get: no argument": (GET, [], "The given request params list should have one argument"),
    "get: two arguments": (
        GET,
        [UNKNOWN_HASH, UNKNOWN_HASH],
        "The given request params list should have one argument",
    ),
    "get: an object": (GET, {"txHash": UNKNOWN_HASH}, "params should be a list"),
    "get: odd length is told before all else": (GET, ["0xz"], f"{HASH} Must have an even length"),
    "get: 31 bytes, with two blanks": (
        GET,
        [UNKNOWN_HASH[:-2]],
        f"{HASH}  expected to have 32 bytes, but got 31",
    ),
    "get: 33 bytes": (
        GET,
        [f"{UNKNOWN_HASH}00"],
        f"{HASH}  expected to have 32 bytes, but got 33",
    ),
    "get: no bytes": (GET, ["0x"], f"{HASH}  expected to have 32 bytes, but got 0"),
    "get: a number is taken as its text": (
        GET,
        [1234],
        f"{HASH}  expected to have 32 bytes, but got 2",
    ),
    "save: no argument": (SAVE, [], "The given request params list should have one argument"),
    "save: two arguments": (
        SAVE,
        [report(), report()],
        "The given request params list should have one argument",
    ),
    "save: argument is no object": (
        SAVE,
        ["report"],
        "The argument in the request params list should be an object",
    ),
    "save: nothing of what it needs, in the known order": (
        SAVE,
        {},
        f"Missing [{REQUIRED}] from the given request params",
    ),
    "save: three keys missing, in the known order": (
        SAVE,
        [without("overflows", "timestamp", "transactionRLP")],
        "Missing [timestamp,transactionRLP,overflows] from the given request params",
    ),
    "save: stage in lower case": (
        SAVE,
        report(txRejectionStage="sequencer"),
        "Unsupported transaction rejection stage: sequencer",
    ),
    "save: reason of 1,025 characters": (
        SAVE,
        report(reasonMessage="r" * 1025),
        f"Reason message should not be more than 1024 characters: {'r' * 1025}",
    ),
    "save: transaction of an odd length": (
        SAVE,
        report(transactionRLP="0x0"),
        f"Hex string of {RLP} Must have an even length",
    ),
}

BEGINNINGS = {
    "get: no digit": (GET, ["0xzz"], f"{HASH} "),
    "get: null is taken as its text": (GET, [None], f"{HASH} "),
    "get: a list": (GET, [[]], f"{HASH} "),
    "save: transaction is no hexadecimal": (
        SAVE,
        report(transactionRLP="0xzz"),
        f"Hex string of {RLP} ",
    ),
    "save: transaction cut off": (SAVE, report(transactionRLP=TRANSACTION.raw[:-2]), f"{RLP} "),
    "save: block number in hexadecimal": (
        SAVE,
        report(blockNumber="0x1a"),
        "Block number cannot be parsed to an unsigned number: ",
    ),
    "save: block number below zero": (
        SAVE,
        report(blockNumber=-1),
        "Block number cannot be parsed to an unsigned number: ",
    ),
    "save: timestamp without an offset": (
        SAVE,
        report(timestamp="2026-11-20T12:00:00"),
        "Timestamp is not in ISO-8601: ",
    ),
    "save: overflow with a module of null": (
        SAVE,
        report(overflows=[{"module": None, "count": 1, "limit": 1}]),
        "Overflows cannot be parsed: ",
    ),
    "save: overflow with an unknown key": (
        SAVE,
        report(overflows=[{"module": "HUB", "count": 1, "limit": 1, "unit": "lines"}]),
        "Overflows cannot be parsed: ",
    ),
    "save: an unknown key": (SAVE, report(txHash=TRANSACTION.tx_hash), "Unknown key 'txHash' "),
    "save: a chain that is not served": (
        SAVE,
        report(transactionRLP=a_signed_transaction(1, chain_id=5).raw),
        "Unsupported network: the transaction's chain id 5 ",
    ),
}


@pytest.mark.parametrize(
    ("method", "params", "message"), WORD_FOR_WORD.values(), ids=WORD_FOR_WORD.keys()
)
def test_unusable_params_are_refused_word_for_word(
    served: Served, method: str, params: object, message: str
) -> None:
    reply = served.ask(method, params)

    assert reply == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": message}}


@pytest.mark.parametrize(
    ("method", "params", "beginning"), BEGINNINGS.values(), ids=BEGINNINGS.keys()
)
def test_refusal_with_details_begins_in_the_known_words(
    served: Served, method: str, params: object, beginning: str
) -> None:
    error = served.ask(method, params)["error"]

    assert error["code"] == -32602
    assert error["message"].startswith(beginning)
    assert len(error["message"]) > len(beginning)


INVALID = {
    "a number": b"1",
    "null": b"null",
    "a text": b'"chain"',
    "an empty batch": b"[]",
    "version 1.0": b'{"jsonrpc":"1.0","id":1,"method":"%b","params":[]}',
    "version as a number": b'{"jsonrpc":2.0,"id":1,"method":"%b","params":[]}',
    "no version": b'{"id":1,"method":"%b","params":[]}',
    "no method": b'{"jsonrpc":"2.0","id":1,"params":[]}',
    "an empty method": b'{"jsonrpc":"2.0","id":1,"method":"","params":[]}',
    "a method that is a number": b'{"jsonrpc":"2.0","id":1,"method":1,"params":[]}',
    "params of null": b'{"jsonrpc":"2.0","id":1,"method":"%b","params":null}',
    "params that are a text": b'{"jsonrpc":"2.0","id":1,"method":"%b","params":"x"}',
    "an id of true": b'{"jsonrpc":"2.0","id":true,"method":"%b","params":[]}',
    "an id that is a list": b'{"jsonrpc":"2.0","id":[1],"method":"%b","params":[]}',
    "an id that is an object": b'{"jsonrpc":"2.0","id":{},"method":"%b","params":[]}',
}
NO_JSON = {
    "an empty body": b"",
    "blanks": b" \n",
    "broken off": b'{"jsonrpc":"2.0","id":1',
    "more after the end": b'{"jsonrpc":"2.0","id":1,"method":"m"} x',
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"m"}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":"\xff","method":"m"}',
    "half a batch": b'[{"jsonrpc":"2.0","id":1,"method":"m"},',
    "a constant that JSON lacks": b'{"jsonrpc":"2.0","id":NaN,"method":"m"}',
}


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID.keys())
def test_json_that_is_no_request_is_told_so_under_the_id_null(served: Served, body: bytes) -> None:
    response = served.post(body.replace(b"%b", GET.encode()))

    assert response.status_code == 200
    assert outline(response.json()) == (None, -32600, "Invalid Request")


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON.keys())
def test_text_that_is_no_json_is_told_so_under_the_id_null(served: Served, body: bytes) -> None:
    response = served.post(body)

    assert response.status_code == 200
    assert outline(response.json()) == (None, -32700, "Parse error")


@pytest.mark.parametrize("params", ["", ',"params":[]', ',"params":{}'])
def test_method_is_looked_up_before_its_params(served: Served, params: str) -> None:
    reply = served.post(f'{{"jsonrpc":"2.0","id":7,"method":"chain_nope"{params}}}'.encode())

    error = {"code": -32601, "message": "Method not found", "data": "chain_nope"}
    assert reply.json() == {"jsonrpc": "2.0", "id": 7, "error": error}


@pytest.mark.parametrize(
    ("method", "message"),
    [(GET, "params should be a list"), (SAVE, "params should be either an object or a list")],
)
def test_absent_params_are_refused_as_params(served: Served, method: str, message: str) -> None:
    reply = served.post({"jsonrpc": "2.0", "id": 1, "method": method}).json()

    assert reply["error"] == {"code": -32602, "message": message}


def test_batch_over_its_limit_is_refused_whole_and_told_why(served: Served) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": GET, "params": [UNKNOWN_HASH]}

    at_limit = served.post([call] * LIMITS.largest_batch).json()
    reply = served.post([call] * (LIMITS.largest_batch + 1)).json()

    assert len(at_limit) == LIMITS.largest_batch
    assert outline(reply) == (None, -32600, "Invalid Request")
    assert str(LIMITS.largest_batch) in reply["error"]["data"]


def outline(reply: dict[str, Any]) -> tuple[Any, int, str]:
    """Return id, code and message; the data that explains is ours to word."""
    assert set(reply) == {"jsonrpc", "id", "error"}, json.dumps(reply)
    assert reply["jsonrpc"] == "2.0"
    return reply["id"], reply["error"]["code"], reply["error"]["message"]
