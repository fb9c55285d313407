"""The exclusion RPC over HTTP: reports kept, questions answered, the rest refused clearly."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.integration.serving import (
    KEY,
    LIMITS,
    NARROW_KEY,
    OTHER_NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
    serving,
    utc_now,
)

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"
REQUIRED = "txRejectionStage,timestamp,reasonMessage,transactionRLP,overflows"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with (
        a_store(tmp_path_factory.mktemp("serve")) as store,
        serving(services_of(store)) as address,
        httpx.Client(base_url=f"http://{address}") as client,
    ):
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


def test_content_type_of_a_request_does_not_matter(api: httpx.Client) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"nope","params":[]}'

    response = api.post(f"/v3/{KEY}", content=body, headers={"Content-Type": "text/plain"})

    assert response.json()["error"]["code"] == -32601


@pytest.mark.parametrize("path", ["/v3/wrong", "/v3/", "/v3", f"/v3/{KEY}x", "/v3/wrong/more"])
def test_unknown_key_is_refused_before_the_body_is_looked_at(api: httpx.Client, path: str) -> None:
    response = api.post(path, content=b"no json")

    assert response.status_code == 401
    assert response.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32002, "message": "invalid project id"},
    }


@pytest.mark.parametrize("path", ["/", "/v4/key", f"/v3/{KEY}/more", "/favicon.ico", "/ws"])
def test_unknown_path_is_not_found_in_json(api: httpx.Client, path: str) -> None:
    response = api.post(path)

    assert response.status_code == 404
    assert response.json()["statusCode"] == 404


def test_other_verb_is_told_which_ones_there_are(api: httpx.Client) -> None:
    response = api.get(f"/v3/{KEY}")

    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")
    assert response.json()["statusCode"] == 405


def test_body_at_the_limit_is_read_and_one_byte_more_is_not(api: httpx.Client) -> None:
    at_limit = b"1".ljust(LIMITS.largest_body)

    assert api.post(f"/v3/{KEY}", content=at_limit).json()["error"]["code"] == -32600
    response = api.post(f"/v3/{KEY}", content=at_limit + b" ")

    assert response.status_code == 413
    assert str(LIMITS.largest_body) in response.json()["error"]["data"]


def test_body_over_the_limit_is_not_read_to_its_end(api: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 10_000

    try:
        status = api.post(f"/v3/{KEY}", content=endless()).status_code
    except httpx.HTTPError:
        status = 413  # the server hung up while the client was still sending

    assert status == 413


def test_batch_over_the_limit_is_refused_whole(api: httpx.Client) -> None:
    batch = [a_call(GET, [f"0x{'ab' * 32}"])] * (LIMITS.largest_batch + 1)

    error = api.post(f"/v3/{KEY}", json=batch).json()["error"]

    assert error["code"] == -32600
    assert str(LIMITS.largest_batch) in error["data"]


def test_browser_of_a_listed_origin_may_call(api: httpx.Client) -> None:
    asked = {
        "Origin": "https://wallet.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-client-id, authorization, accept",
    }

    preflight = api.options(f"/v3/{KEY}", headers=asked)
    call = api.post(f"/v3/{KEY}", json=a_call("nope", []), headers={"Origin": asked["Origin"]})

    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == asked["Origin"]
    assert call.headers["access-control-allow-origin"] == asked["Origin"]


def test_browser_of_another_origin_may_not_call(api: httpx.Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}

    preflight = api.options(f"/v3/{KEY}", headers=asked)

    assert preflight.status_code == 400
    assert "access-control-allow-origin" not in preflight.headers
