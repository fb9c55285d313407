"""Blocks, quantities and fee histories of nodes: recorded forms, round trips, hostile input."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dashboard.domain.quantity import LARGEST_FEE, TxHash, Wei
from dashboard.errors import WireError
from dashboard.wire.node import (
    BlockHeader,
    BlockTransactions,
    FeeHistory,
    decode_block,
    decode_block_transactions,
    decode_fee_history,
    decode_quantity,
    decode_receipt,
    encode_block,
    encode_fee_history,
    encode_quantity,
)
from tests.recorded import recorded

NUMBERS: Final = st.integers(0, 2**63 - 1)
FEES: Final = st.integers(0, LARGEST_FEE).map(Wei)
HASHES: Final = st.binary(min_size=32, max_size=32)
HEADERS: Final = st.builds(
    BlockHeader,
    number=NUMBERS,
    hash=HASHES,
    parent_hash=HASHES,
    timestamp=st.integers(0, 253_402_300_799).map(
        lambda seconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    ),
    base_fee_per_gas=st.none() | FEES,
    gas_used=NUMBERS,
    gas_limit=NUMBERS,
)
HEADER: Final = BlockHeader(
    number=100,
    hash=b"\x01" * 32,
    parent_hash=b"\x02" * 32,
    timestamp=datetime(2026, 11, 20, tzinfo=UTC),
    base_fee_per_gas=Wei(7),
    gas_used=0,
    gas_limit=30_000_000,
)


@st.composite
def fee_histories(draw: st.DrawFn) -> FeeHistory:
    count = draw(st.integers(0, 4))
    width = draw(st.integers(0, 3))
    row = st.lists(FEES, min_size=width, max_size=width).map(tuple)
    rewards = st.lists(row, min_size=count, max_size=count).map(tuple) if count else st.none()
    return FeeHistory(
        oldest_block=draw(NUMBERS),
        base_fee_per_gas=tuple(draw(st.lists(FEES, min_size=count + 1, max_size=count + 1))),
        gas_used_ratio=tuple(draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))),
        reward=draw(st.none() | rewards),
    )


def a_block(**changes: object) -> bytes:
    """Return a block's answer with some members changed, or left out for ``...``."""
    members: dict[str, Any] = json.loads(encode_block(HEADER, [])) | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def a_fee_history(**changes: object) -> bytes:
    """Return the recorded fee history with some members changed, or left out for ``...``."""
    members: dict[str, Any] = recorded("node_feeHistory")["response"]["result"] | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def test_block_is_read_with_its_time_and_fees() -> None:
    assert decode_block(a_block()) == HEADER


def test_block_that_the_node_lacks_is_none() -> None:
    assert decode_block(b"null") is None


@pytest.mark.parametrize("absent", [None, ...])
def test_block_before_the_fee_market_has_no_base_fee(absent: object) -> None:
    header = decode_block(a_block(baseFeePerGas=absent))

    assert header is not None
    assert header.base_fee_per_gas is None


def test_block_lists_hashes_and_whole_transactions() -> None:
    transactions: list[TxHash | Raw] = [TxHash(b"\x03" * 32), Raw(b'{"nonce":"0x0"}')]

    block = json.loads(encode_block(HEADER, transactions))

    assert block["transactions"] == [f"0x{'03' * 32}", {"nonce": "0x0"}]


def test_block_has_the_members_that_clients_ask_for() -> None:
    names = set(json.loads(encode_block(HEADER, [])))

    assert names >= {"logsBloom", "miner", "extraData", "stateRoot", "uncles", "mixHash", "nonce"}
    assert names >= {"sha3Uncles", "transactionsRoot", "receiptsRoot", "difficulty", "size"}


@pytest.mark.parametrize(
    "changes",
    [
        {"number": None},
        {"number": 100},
        {"number": "100"},
        {"number": "0x064"},
        {"number": hex(2**63)},
        {"number": "0x" + "f" * 100_000},
        {"hash": None},
        {"hash": "0x12"},
        {"hash": "0xzz"},
        {"parentHash": ...},
        {"timestamp": hex(253_402_300_800)},
        {"timestamp": "0x1e3z"},
        {"baseFeePerGas": hex(LARGEST_FEE + 1)},
        {"gasUsed": "-0x1"},
        {"gasLimit": 1e30},
    ],
    ids=range(15),
)
def test_block_that_breaks_the_contract_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^block: ") as caught:
        decode_block(a_block(**changes))
    assert len(str(caught.value)) < 300


@given(HEADERS)
def test_round_trip_keeps_every_header(header: BlockHeader) -> None:
    assert decode_block(encode_block(header, [])) == header


@given(HEADERS, st.lists(HASHES))
def test_transactions_of_a_block_are_read(header: BlockHeader, hashes: list[bytes]) -> None:
    held = list(map(TxHash, hashes))

    block = decode_block_transactions(encode_block(header, held))

    assert block == BlockTransactions(
        header.number, header.hash, header.parent_hash, frozenset(held)
    )


def test_block_that_is_not_there_holds_nothing() -> None:
    assert decode_block_transactions(b"null") is None


@pytest.mark.parametrize(
    "transactions",
    [..., None, ["0x12"], [{"hash": "0x12"}]],
    ids=["absent", "null", "short", "full"],
)
def test_block_whose_transactions_are_no_hashes_is_refused(transactions: object) -> None:
    with pytest.raises(WireError, match=r"^block: "):
        decode_block_transactions(a_block(transactions=transactions))


def test_recorded_fee_history_is_read() -> None:
    history = decode_fee_history(a_fee_history())

    assert history.oldest_block == 100
    assert (len(history.base_fee_per_gas), len(history.gas_used_ratio)) == (6, 5)
    assert history.reward is not None
    assert history.reward[2] == (0, 0, 0)


def test_recorded_fee_history_is_written_as_it_was_read() -> None:
    result = recorded("node_feeHistory")["response"]["result"]

    assert json.loads(encode_fee_history(decode_fee_history(a_fee_history()))) == result


@pytest.mark.parametrize("absent", [..., None, []])
def test_fee_history_without_rewards_is_read(absent: object) -> None:
    history = decode_fee_history(a_fee_history(reward=absent))

    assert history.reward is None
    assert "reward" not in json.loads(encode_fee_history(history))


@pytest.mark.parametrize(
    "changes",
    [
        {"baseFeePerGas": ..., "gasUsedRatio": None, "reward": ...},
        {"baseFeePerGas": [], "gasUsedRatio": [], "reward": []},
    ],
    ids=["left out", "empty"],
)
def test_fee_history_of_no_blocks_is_empty(changes: dict[str, object]) -> None:
    assert decode_fee_history(a_fee_history(**changes)) == FeeHistory(100, (), (), None)


@pytest.mark.parametrize(
    "changes",
    [
        {"oldestBlock": ...},
        {"oldestBlock": 100},
        {"baseFeePerGas": ["0x1"]},
        {"baseFeePerGas": ["0x1"] * 5},
        {"baseFeePerGas": ...},
        {"baseFeePerGas": ["0x1"] * 5 + [1]},
        {"baseFeePerGas": ["0x1"] * 5 + [hex(2**63)]},
        {"gasUsedRatio": ...},
        {"gasUsedRatio": [0.5] * 4},
        {"gasUsedRatio": [0.5] * 4 + ["0.5"]},
        {"gasUsedRatio": [0.5] * 4 + [-0.5]},
        {"gasUsedRatio": [0.5] * 4 + [None]},
        {"gasUsedRatio": [0.5] * 4 + [float("nan")]},
        {"reward": [["0x1"]] * 4},
        {"reward": [["0x1"]] * 4 + [["0x1", "0x2"]]},
        {"reward": [["0x1"]] * 4 + [[1]]},
        {"reward": [["0x1"]] * 4 + [None]},
    ],
    ids=range(17),
)
def test_fee_history_that_does_not_fit_together_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^eth_feeHistory: "):
        decode_fee_history(a_fee_history(**changes))


@given(fee_histories())
def test_round_trip_keeps_every_fee_history(history: FeeHistory) -> None:
    assert decode_fee_history(encode_fee_history(history)) == history


@given(NUMBERS)
def test_round_trip_keeps_every_quantity(value: int) -> None:
    assert decode_quantity(encode_quantity(value)) == value


@pytest.mark.parametrize(
    "text", [b"1", b"null", b'"1"', b'"0x"', b'"0x01"', b'"0x8000000000000000"', b'"0x1e-1"']
)
def test_quantity_in_another_form_is_refused(text: bytes) -> None:
    with pytest.raises(WireError, match=r"^quantity: "):
        decode_quantity(text)


@pytest.mark.parametrize(
    "decode", [decode_block, decode_fee_history, decode_quantity, decode_receipt]
)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"1e400000", b"[" * 100_000, b'{"number":' * 100_000, rb'"\ud800"', b'"\xff"'],
    ids=["empty", "html", "exponent", "lists", "objects", "surrogate", "not utf-8"],
)
def test_text_that_is_no_answer_is_refused(decode: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)
