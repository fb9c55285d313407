"""The exclusion RPC over HTTP: reports kept, questions answered, the rest refused clearly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.running_server import (
    KEY,
    NARROW_KEY,
    OTHER_NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    an_api,
)

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with an_api(tmp_path_factory.mktemp("serve")) as client:
        yield client


def ask(api: httpx.Client, method: str, params: object, key: str = KEY) -> dict[str, Any]:
    response = api.post(f"/v3/{key}", json=a_call(method, params))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    reply: dict[str, Any] = response.json()
    return reply


def test_hash_without_report_is_answered_with_null(api: httpx.Client) -> None:
    reply = ask(api, GET, [f"0x{'ab' * 32}"])

    assert reply == {"jsonrpc": "2.0", "id": 1, "result": None}


def test_report_without_chain_id_is_refused_while_no_default_is_configured(
    api: httpx.Client,
) -> None:
    error = ask(api, SAVE, a_report_of(a_signed_transaction(7, chain_id=None)))["error"]

    assert error["code"] == -32602
    assert "no default network is configured" in error["message"]


def test_key_sees_and_reports_only_on_the_networks_that_it_opens(api: httpx.Client) -> None:
    closed = a_signed_transaction(8)
    opened = a_signed_transaction(8, chain_id=OTHER_NETWORK)
    ask(api, SAVE, a_report_of(closed))

    assert ask(api, GET, [closed.tx_hash], NARROW_KEY)["result"] is None
    assert ask(api, SAVE, a_report_of(closed), NARROW_KEY)["error"]["code"] == -32602
    assert ask(api, SAVE, a_report_of(opened), NARROW_KEY)["result"]["status"] == "SAVED"
    assert ask(api, GET, [opened.tx_hash], NARROW_KEY)["result"]["txHash"] == opened.tx_hash


def test_batch_sees_its_own_reports_and_keeps_its_order(api: httpx.Client) -> None:
    transaction = a_signed_transaction(9)
    batch = [
        a_call(SAVE, a_report_of(transaction), "save"),
        a_call(SAVE, a_report_of(transaction, txRejectionStage="nowhere"), "bad"),
        a_call(GET, [transaction.tx_hash], 2.5),
        {"jsonrpc": "2.0", "method": GET, "params": [transaction.tx_hash]},
    ]

    replies = api.post(f"/v3/{KEY}", json=batch).json()

    assert [reply["id"] for reply in replies] == ["save", "bad", 2.5]
    assert replies[0]["result"]["status"] == "SAVED"
    assert replies[1]["error"]["code"] == -32602
    assert replies[2]["result"]["txHash"] == transaction.tx_hash
