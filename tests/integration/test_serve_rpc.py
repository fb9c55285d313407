"""The exclusion RPC over HTTP: reports kept, questions answered, the rest refused clearly."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.integration.running_server import (
    KEY,
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
