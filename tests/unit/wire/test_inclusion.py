"""Receipts and transactions of nodes: what is read, what clients of devnet get."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.quantity import LARGEST_FEE, Address, TxHash, Wei
from dashboard.errors import WireError
from dashboard.wire.inclusion import (
    BlockPosition,
    Receipt,
    TransactionView,
    decode_receipt,
    encode_receipt,
    encode_transaction,
)
from dashboard.wire.transaction import decode_transaction
from tests.recorded import recorded

NUMBERS: Final = st.integers(0, 2**63 - 1)
HASHES: Final = st.binary(min_size=32, max_size=32)
ADDRESSES: Final = st.binary(min_size=20, max_size=20).map(Address)
RECEIPTS: Final = st.builds(
    Receipt,
    tx_hash=HASHES.map(TxHash),
    block_hash=HASHES,
    block_number=NUMBERS,
    transaction_index=NUMBERS,
    sender=ADDRESSES,
    recipient=st.none() | ADDRESSES,
    gas_used=NUMBERS,
    cumulative_gas_used=NUMBERS,
    effective_gas_price=st.none() | st.integers(0, LARGEST_FEE).map(Wei),
    is_successful=st.none() | st.booleans(),
    contract_address=st.none() | ADDRESSES,
    kind=st.integers(0, 4),
)
RECEIPT: Final = Receipt(
    tx_hash=TxHash(b"\x01" * 32),
    block_hash=b"\x02" * 32,
    block_number=5,
    transaction_index=0,
    sender=Address(b"\x03" * 20),
    recipient=Address(b"\x04" * 20),
    gas_used=21_000,
    cumulative_gas_used=42_000,
    effective_gas_price=Wei(9),
    is_successful=True,
    kind=2,
)


def a_receipt(**changes: object) -> bytes:
    """Return a receipt's answer with some members changed, or left out for ``...``."""
    members: dict[str, Any] = json.loads(encode_receipt(RECEIPT)) | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def a_view(name: str, **changes: Any) -> TransactionView:  # noqa: ANN401 - any field
    """View a recorded transaction, with some fields changed."""
    vectors = {vector["name"]: vector for vector in recorded("signed_transactions")["vectors"]}
    raw = bytes.fromhex(vectors[name]["transactionRLP"][2:])
    view = TransactionView(
        transaction=decode_transaction(raw),
        kind=raw[0] if raw[0] < 0xC0 else 0,
        gas=21_000,
        gas_price=Wei(9),
        max_fee_per_gas=Wei(10),
        max_priority_fee_per_gas=Wei(1),
        value=2**200,
        data=b"\xab",
        v=1,
        r=2,
        s=3,
    )
    return replace(view, **changes)


def test_receipt_is_read() -> None:
    assert decode_receipt(a_receipt()) == RECEIPT


def test_receipt_of_an_unknown_transaction_is_none() -> None:
    assert decode_receipt(b"null") is None
    assert encode_receipt(None) == b"null"


@pytest.mark.parametrize("member", ["blockHash", "blockNumber"])
def test_receipt_without_a_block_is_none(member: str) -> None:
    assert decode_receipt(a_receipt(**{member: None})) is None


def test_receipt_of_an_old_chain_says_nothing_of_success_or_price() -> None:
    receipt = decode_receipt(a_receipt(status=..., effectiveGasPrice=..., type=...))

    assert receipt == replace(RECEIPT, is_successful=None, effective_gas_price=None, kind=0)


def test_receipt_with_status_zero_failed() -> None:
    receipt = decode_receipt(a_receipt(status="0x0"))

    assert receipt is not None
    assert receipt.is_successful is False


@pytest.mark.parametrize(
    "changes",
    [
        {"transactionHash": "0x1"},
        {"from": None},
        {"from": "0x1"},
        {"to": "nobody"},
        {"contractAddress": 5},
        {"blockNumber": 5},
        {"blockHash": "0x00"},
        {"status": "ok"},
        {"gasUsed": ...},
        {"effectiveGasPrice": hex(2**63)},
        {"type": "2"},
    ],
)
def test_receipt_that_breaks_the_contract_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^receipt: "):
        decode_receipt(a_receipt(**changes))


@given(RECEIPTS)
def test_round_trip_keeps_every_receipt(receipt: Receipt) -> None:
    assert decode_receipt(encode_receipt(receipt)) == receipt


def test_transaction_that_is_unknown_is_null() -> None:
    assert encode_transaction(None) == b"null"


def test_transaction_that_waits_has_no_place() -> None:
    written = json.loads(encode_transaction(a_view("dynamic_fee_1559_call")))

    assert (written["blockHash"], written["blockNumber"], written["transactionIndex"]) == (
        None,
        None,
        None,
    )


def test_transaction_in_a_block_says_where() -> None:
    view = a_view("dynamic_fee_1559_call", place=BlockPosition(b"\x05" * 32, 16, 2))

    written = json.loads(encode_transaction(view))

    assert written["blockHash"] == f"0x{'05' * 32}"
    assert (written["blockNumber"], written["transactionIndex"]) == ("0x10", "0x2")


def test_dynamic_fee_transaction_is_written_with_all_its_members() -> None:
    key = TxHash(b"\x07" * 32)
    access_list = ((Address(b"\x06" * 20), (key,)),)

    written = json.loads(
        encode_transaction(a_view("dynamic_fee_1559_call", access_list=access_list))
    )

    assert written["hash"] == str(a_view("dynamic_fee_1559_call").transaction.tx_hash)
    assert (written["type"], written["chainId"]) == ("0x2", hex(424242))
    assert (written["maxFeePerGas"], written["maxPriorityFeePerGas"]) == ("0xa", "0x1")
    assert written["accessList"] == [{"address": f"0x{'06' * 20}", "storageKeys": [str(key)]}]
    assert (written["v"], written["yParity"], written["input"]) == ("0x1", "0x1", "0xab")


def test_access_list_transaction_names_no_priority_fee() -> None:
    written = json.loads(encode_transaction(a_view("access_list_2930")))

    assert written["accessList"] == []
    assert "maxPriorityFeePerGas" not in written


def test_legacy_transaction_has_the_members_of_its_time() -> None:
    written = json.loads(encode_transaction(a_view("legacy_eip155", v=848_519)))

    assert (written["type"], written["v"], written["chainId"]) == ("0x0", "0xcf287", hex(424242))
    assert not {"yParity", "accessList", "maxFeePerGas"} & written.keys()


def test_transaction_older_than_chain_ids_names_none() -> None:
    view = a_view("legacy_eip155")
    unprotected = replace(view, transaction=replace(view.transaction, chain_id=None))

    assert "chainId" not in json.loads(encode_transaction(unprotected))


def test_deployment_is_written_without_a_recipient() -> None:
    assert json.loads(encode_transaction(a_view("dynamic_fee_1559_deployment")))["to"] is None
