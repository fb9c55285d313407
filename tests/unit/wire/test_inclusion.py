"""Receipts of nodes: what is read of them, and what breaks the contract."""

from __future__ import annotations

import json
from typing import Final

import pytest

from dashboard.domain.quantity import TxHash
from dashboard.errors import WireError
from dashboard.wire.node import Receipt, decode_receipt

RECEIPT: Final[dict[str, object]] = {
    "transactionHash": f"0x{'01' * 32}",
    "transactionIndex": "0x0",
    "blockHash": f"0x{'02' * 32}",
    "blockNumber": "0x5",
    "from": f"0x{'03' * 20}",
    "to": f"0x{'04' * 20}",
    "gasUsed": "0x5208",
    "cumulativeGasUsed": "0xa410",
    "contractAddress": None,
    "effectiveGasPrice": "0x9",
    "logs": [],
    "status": "0x1",
    "type": "0x2",
}


def a_receipt(**changes: object) -> bytes:
    """Return a receipt's answer with some members changed, or left out for ``...``."""
    members = RECEIPT | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    ("status", "is_successful"), [("0x1", True), ("0x0", False), (None, None), (..., None)]
)
def test_receipt_says_where_and_whether_it_succeeded(
    *, status: object, is_successful: bool | None
) -> None:
    receipt = decode_receipt(a_receipt(status=status))

    assert receipt == Receipt(TxHash(b"\x01" * 32), b"\x02" * 32, 5, is_successful)


@pytest.mark.parametrize(
    "answer",
    [b"null", a_receipt(blockHash=None), a_receipt(blockNumber=None)],
    ids=["unknown", "no hash", "no number"],
)
def test_receipt_of_what_is_in_no_block_is_none(answer: bytes) -> None:
    assert decode_receipt(answer) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"transactionHash": "0x1"},
        {"transactionHash": None},
        {"blockNumber": 5},
        {"blockNumber": hex(2**63)},
        {"blockHash": "0x00"},
        {"status": "ok"},
    ],
)
def test_receipt_that_breaks_the_contract_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^receipt: "):
        decode_receipt(a_receipt(**changes))
