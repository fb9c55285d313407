"""The exclusion RPC over HTTP: reports kept, questions answered, the rest refused clearly."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.integration.serving import (
    KEY,
    NARROW_KEY,
    OTHER_NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    an_api,
    utc_now,
)

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"
REQUIRED = "txRejectionStage,timestamp,reasonMessage,transactionRLP,overflows"


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


def test_report_is_acknowledged_and_then_answered_in_the_documented_form(
    api: httpx.Client,
) -> None:
    transaction = a_signed_transaction(100)
    report = a_report_of(transaction)

    saved = ask(api, SAVE, report)
    reply = ask(api, GET, [transaction.tx_hash])

    assert saved["result"] == {"status": "SAVED", "txHash": transaction.tx_hash}
    assert list(reply["result"].items()) == [
        ("txHash", transaction.tx_hash),
        ("from", transaction.sender),
        ("nonce", "0x64"),
        ("txRejectionStage", "SEQUENCER"),
        ("reasonMessage", "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)"),
        ("timestamp", report["timestamp"].replace(".000Z", "Z")),
        ("blockNumber", "0x3e8"),
    ]


def test_hash_without_report_is_answered_with_null(api: httpx.Client) -> None:
    reply = ask(api, GET, [f"0x{'ab' * 32}"])

    assert reply == {"jsonrpc": "2.0", "id": 1, "result": None}


def test_both_prefixes_answer_from_the_same_records(api: httpx.Client) -> None:
    transaction = a_signed_transaction(1)

    ask(api, "linea_saveRejectedTransactionV1", [a_report_of(transaction)])

    for method in (GET, "linea_getTransactionExclusionStatusV1"):
        assert ask(api, method, [transaction.tx_hash])["result"]["nonce"] == "0x1"


def test_prefix_that_is_not_served_is_an_unknown_method(api: httpx.Client) -> None:
    reply = ask(api, "other_getTransactionExclusionStatusV1", [f"0x{'ab' * 32}"])

    assert reply["error"]["code"] == -32601


def test_same_reason_twice_is_a_duplicate_and_changes_nothing(api: httpx.Client) -> None:
    transaction = a_signed_transaction(2)
    ask(api, SAVE, a_report_of(transaction, blockNumber=7))

    again = ask(api, SAVE, a_report_of(transaction, blockNumber=8))

    assert again["result"]["status"] == "DUPLICATE_ALREADY_SAVED_BEFORE"
    assert ask(api, GET, [transaction.tx_hash])["result"]["blockNumber"] == "0x7"


def test_block_number_is_shown_for_the_sequencer_stage_only(api: httpx.Client) -> None:
    transaction = a_signed_transaction(3)

    ask(api, SAVE, a_report_of(transaction, txRejectionStage="RPC"))

    assert "blockNumber" not in ask(api, GET, [transaction.tx_hash])["result"]


def test_newest_claimed_time_is_the_record_that_is_seen(api: httpx.Client) -> None:
    transaction = a_signed_transaction(4)
    earlier = (utc_now() - timedelta(hours=1)).isoformat()

    ask(api, SAVE, a_report_of(transaction, reasonMessage="newer"))
    ask(api, SAVE, a_report_of(transaction, reasonMessage="older", timestamp=earlier))

    assert ask(api, GET, [transaction.tx_hash])["result"]["reasonMessage"] == "newer"


def test_rejection_claimed_longer_than_seven_days_ago_is_not_answered(api: httpx.Client) -> None:
    transaction = a_signed_transaction(5)
    long_ago = (utc_now() - timedelta(days=7, seconds=1)).isoformat()

    saved = ask(api, SAVE, a_report_of(transaction, timestamp=long_ago))

    assert saved["result"]["status"] == "SAVED"
    assert ask(api, GET, [transaction.tx_hash])["result"] is None


def test_report_of_a_network_that_is_not_served_is_refused_with_its_number(
    api: httpx.Client,
) -> None:
    error = ask(api, SAVE, a_report_of(a_signed_transaction(6, chain_id=5)))["error"]

    assert error["code"] == -32602
    assert error["message"] == (
        "Unsupported network: the transaction's chain id 5 is not served here"
    )


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


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        (GET, [], "The given request params list should have one argument"),
        (GET, {}, "params should be a list"),
        (
            GET,
            ["0xabc"],
            "Hex string of transaction hash cannot be parsed: Must have an even length",
        ),
        (
            SAVE,
            {},
            f"Missing [{REQUIRED}] from the given request params",
        ),
    ],
)
def test_unusable_params_are_refused_in_the_known_words(
    api: httpx.Client, method: str, params: object, message: str
) -> None:
    assert ask(api, method, params)["error"] == {"code": -32602, "message": message}


@pytest.mark.parametrize("method", [GET, SAVE])
def test_absent_params_are_refused_as_params(api: httpx.Client, method: str) -> None:
    response = api.post(f"/v3/{KEY}", json={"jsonrpc": "2.0", "id": 1, "method": method})

    assert response.json()["error"]["code"] == -32602


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


def test_notifications_alone_are_answered_with_nothing(api: httpx.Client) -> None:
    transaction = a_signed_transaction(10)
    report = {"jsonrpc": "2.0", "method": SAVE, "params": a_report_of(transaction)}

    response = api.post(f"/v3/{KEY}", json=[report])

    assert (response.status_code, response.content) == (204, b"")
    assert ask(api, GET, [transaction.tx_hash])["result"] is not None
