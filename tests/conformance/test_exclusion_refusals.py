"""What the exclusion RPC refuses, with the codes and words that upstream's clients know.

Lines of the contract: each refusal is sent with HTTP 200 and with the id of its call; which request
is none at all; a method is looked up before its params. The tests of `wire` have every message.
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


REFUSED = {
    "get: an object": (GET, {"txHash": UNKNOWN_HASH}, "params should be a list"),
    "get: absent": (GET, None, "params should be a list"),
    "get: 31 bytes, with two blanks": (
        GET,
        [UNKNOWN_HASH[:-2]],
        f"{HASH}  expected to have 32 bytes, but got 31",
    ),
    "save: two arguments": (
        SAVE,
        [report(), report()],
        "The given request params list should have one argument",
    ),
    "save: absent": (SAVE, None, "params should be either an object or a list"),
    "save: nothing of what it needs, in the known order": (
        SAVE,
        {},
        f"Missing [{REQUIRED}] from the given request params",
    ),
    "save: reason of 1,025 characters": (
        SAVE,
        report(reasonMessage="r" * 1025),
        f"Reason message should not be more than 1024 characters: {'r' * 1025}",
    ),
    "save: transaction cut off": (
        SAVE,
        report(transactionRLP=TRANSACTION.raw[:-2]),
        f"{RLP} the RLP is cut off: 1 bytes are missing",
    ),
    "save: a chain that is not served": (
        SAVE,
        report(transactionRLP=a_signed_transaction(1, chain_id=5).raw),
        "Unsupported network: the transaction's chain id 5 is not served here",
    ),
}


@pytest.mark.parametrize(("method", "params", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_unusable_params_are_refused_word_for_word(
    served: Served, method: str, params: object, message: str
) -> None:
    given = {} if params is None else {"params": params}

    reply = served.post({"jsonrpc": "2.0", "id": 1, "method": method} | given).json()

    assert reply == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": message}}


INVALID = {
    "a number": b"1",
    "an empty batch": b"[]",
    "version 1.0": b'{"jsonrpc":"1.0","id":1,"method":"%b","params":[]}',
    "params of null": b'{"jsonrpc":"2.0","id":1,"method":"%b","params":null}',
    "an id of true": b'{"jsonrpc":"2.0","id":true,"method":"%b","params":[]}',
}
NO_JSON = {
    "an empty body": b"",
    "no UTF-8": b'{"jsonrpc":"2.0","id":"\xff","method":"m"}',
    "half a batch": b'[{"jsonrpc":"2.0","id":1,"method":"m"},',
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
