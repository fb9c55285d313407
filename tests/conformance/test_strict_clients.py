"""What clients with strict types rely on: Go's and Java's JSON-RPC, and a node's reporter.

Go's `ethclient` matches ids by their text and wants a result or an error; web3j maps a reply to a
class; Jackson may refuse unknown keys. The reporter counts a report as delivered by HTTP 2xx and
a ``result.status``, and tries everything else again for hours.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.running_apis import (
    GET,
    KEY,
    SAVE,
    UNKNOWN_HASH,
    Served,
    a_call,
    a_former_report,
)
from tests.integration.running_server import a_signed_transaction
from tests.recorded import recorded

KNOWN = a_signed_transaction(1)
MESSAGES: dict[str, object] = {
    "a record": a_call(GET, [KNOWN.tx_hash]),
    "null": a_call(GET, [UNKNOWN_HASH]),
    "an acknowledgement": a_call(SAVE, [a_former_report(KNOWN)]),
    "refused params": a_call(GET, []),
    "refused report": a_call(SAVE, {"timestamp": []}),
    "unknown method": a_call("eth_blockNumber", []),
    "no request": {"id": 1},
    "no JSON": b"{",
    "empty batch": [],
    "batch": [a_call(GET, [UNKNOWN_HASH]), a_call(GET, []), 1],
}


@pytest.fixture(autouse=True, scope="module")
def known(served: Served) -> None:
    """Have one transaction reported."""
    served.result(SAVE, a_former_report(KNOWN))


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Take the members of an object, and refuse a name that stands there twice."""
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_answer_is_what_strict_clients_take(served: Served, message: object) -> None:
    response = served.post(message)
    body = json.loads(response.content, object_pairs_hook=once)

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert int(response.headers["content-length"]) == len(response.content)
    assert not {"transfer-encoding", "connection"} & set(response.headers)
    for reply in body if isinstance(body, list) else [body]:
        assert list(reply) in (["jsonrpc", "id", "result"], ["jsonrpc", "id", "error"])
        assert reply["jsonrpc"] == "2.0"
        if error := reply.get("error"):
            assert set(error) - {"data"} == {"code", "message"}
            assert isinstance(error["code"], int)
            assert error["message"]
            assert isinstance(error.get("data", ""), str)


def test_answer_of_nothing_has_no_body_and_no_type(served: Served) -> None:
    response = served.post({"jsonrpc": "2.0", "method": GET, "params": [UNKNOWN_HASH]})

    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers
    assert response.headers.get("content-length", "0") == "0"


def test_record_maps_to_a_class_of_texts_with_one_optional_key(served: Served) -> None:
    record = served.result(GET, [KNOWN.tx_hash])

    required = ["txHash", "from", "nonce", "txRejectionStage", "reasonMessage", "timestamp"]
    assert list(record) in (required, [*required, "blockNumber"])
    assert {type(value) for value in record.values()} == {str}


@pytest.mark.parametrize("recording", ["rpc_node", "sequencer"])
def test_reporter_of_a_node_sees_its_report_delivered_and_stops_sending(
    served: Served, recording: str
) -> None:
    request = recorded(f"exclusion_save_request_{recording}")

    answers = [
        served.client.post(
            f"/v3/{KEY}",
            content=json.dumps(request),
            headers={"Content-Type": "application/json; charset=utf-8"},
        )
        for _ in range(2)
    ]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert all("error" not in answer.json() for answer in answers)
    statuses = [answer.json()["result"]["status"] for answer in answers]
    assert statuses == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]
    assert answers[0].json()["id"] == request["id"]
