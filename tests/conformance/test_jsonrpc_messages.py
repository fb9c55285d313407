"""Ids, notifications, batches and prefixes, as every JSON-RPC client relies on them.

Lines of the contract: ids of every kind echoed unchanged; order of batches; notifications run and
get no reply; several method prefixes at once; the content type of a request does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.conformance.running_apis import (
    GET,
    KEY,
    SAVE,
    UNKNOWN_HASH,
    Served,
    a_call,
    a_former_report,
    apis,
)
from tests.integration.running_server import a_signed_transaction

IDS = {
    "text": '"a-1"',
    "empty text": '""',
    "text with escapes": r'"\u0041\n\"\\\/\ud83d\udd11"',
    "text beyond ASCII": '"ключ🔑"',
    "text of a number": '"1"',
    "zero": "0",
    "minus zero": "-0",
    "below zero": "-7",
    "fraction": "1.5",
    "fraction of zero": "1.0",
    "exponent": "1E+3",
    "larger than a double": "1e400",
    "larger than 64 bits": "123456789012345678901234567890",
    "beyond exact doubles": "9007199254740993",
    "null": "null",
}
CALLS = {
    "result": (GET, f'["{UNKNOWN_HASH}"]'),
    "refused params": (GET, "[]"),
    "unknown method": ("chain_nope", "[]"),
}


@pytest.mark.parametrize(("method", "params"), CALLS.values(), ids=CALLS.keys())
def test_id_is_echoed_to_the_letter(served: Served, method: str, params: str) -> None:
    heads = [f'{{"jsonrpc":"2.0","id":{request_id},' for request_id in IDS.values()]
    calls = [f'{head}"method":"{method}","params":{params}}}' for head in heads]

    alone = [served.post(call.encode()).content for call in calls]
    batch = served.post(f"[{','.join(calls)}]".encode()).content

    assert [reply[: len(head.encode())] for reply, head in zip(alone, heads, strict=True)] == [
        head.encode() for head in heads
    ]
    assert batch == b"[%b]" % b",".join(alone)


def test_batch_keeps_its_order_and_its_equal_ids(served: Served) -> None:
    methods = [GET, "chain_nope", GET, GET, "chain_nope"]

    replies = served.post([a_call(method, [UNKNOWN_HASH], 5) for method in methods]).json()

    assert [reply["id"] for reply in replies] == [5] * 5
    assert ["error" in reply for reply in replies] == [False, True, False, False, True]


@pytest.mark.parametrize("in_batch", ["alone", "in a batch"])
@pytest.mark.parametrize(
    ("method", "params"),
    [(GET, [UNKNOWN_HASH]), (GET, []), ("chain_nope", []), (SAVE, {})],
    ids=["works", "refused params", "unknown method", "refused report"],
)
def test_notification_gets_no_reply_and_no_content(
    served: Served, method: str, params: object, in_batch: str
) -> None:
    notification = {"jsonrpc": "2.0", "method": method, "params": params}

    response = served.post([notification] if in_batch == "in a batch" else notification)

    assert (response.status_code, response.content) == (204, b"")


def test_report_that_wants_no_reply_is_kept_and_seen_by_the_call_after_it(served: Served) -> None:
    transaction = a_signed_transaction(1)
    report = {"jsonrpc": "2.0", "method": SAVE, "params": [a_former_report(transaction)]}

    (reply,) = served.post([report, a_call(GET, [transaction.tx_hash], "after")]).json()

    assert (reply["id"], reply["result"]["txHash"]) == ("after", transaction.tx_hash)


@pytest.fixture(scope="module")
def branded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve under three brands at once."""
    folder = tmp_path_factory.mktemp("branded")
    brands = ("chain", "linea", "acme2")
    with apis(
        folder, lambda dependencies: replace(dependencies, method_prefixes=brands)
    ) as running:
        yield running


@pytest.mark.parametrize("prefix", ["chain", "linea", "acme2"])
def test_both_methods_answer_under_every_prefix_from_the_same_records(
    branded: Served, prefix: str
) -> None:
    transaction = a_signed_transaction(2)
    report = a_former_report(transaction, reasonMessage=f"reported as {prefix}")

    branded.result(f"{prefix}_saveRejectedTransactionV1", report)
    seen = {
        each: branded.result(f"{each}_getTransactionExclusionStatusV1", [transaction.tx_hash])
        for each in ("chain", "linea", "acme2")
    }

    assert len({str(record) for record in seen.values()}) == 1


@pytest.mark.parametrize(
    "method",
    ["eth_chainId", "other_getTransactionExclusionStatusV1", "getTransactionExclusionStatusV1"],
)
def test_other_prefix_or_none_is_an_unknown_method(branded: Served, method: str) -> None:
    assert branded.ask(method, [UNKNOWN_HASH])["error"]["code"] == -32601


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "text/plain", "application/octet-stream"]
)
def test_content_type_of_a_request_is_not_looked_at(served: Served, content_type: str) -> None:
    response = served.client.post(
        f"/v3/{KEY}", json=a_call(GET, [UNKNOWN_HASH]), headers={"Content-Type": content_type}
    )

    assert response.json()["result"] is None
