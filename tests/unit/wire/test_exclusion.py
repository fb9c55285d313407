"""Exclusion records and their params: recorded forms, round trips, hostile input."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import (
    RejectedTransaction,
    RejectionStage,
    SaveStatus,
    StatusClaim,
)
from dashboard.errors import WireError
from dashboard.wire.exclusion import (
    LONGEST_ADDED,
    decode_record,
    decode_saved,
    encode_record,
    encode_saved,
    method_name,
)
from dashboard.wire.params import GET_STATUS, SAVE_REJECTED
from dashboard.wire.status_request import decode_hash_param
from dashboard.wire.transaction import LARGEST_NONCE
from tests.recorded import recorded

RECORDINGS: Final = ["rpc_stage", "p2p_stage", "sequencer_stage"]
HASH: Final = TxHash(bytes(range(32)))
MOMENTS: Final = st.datetimes(timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
RECORDS: Final = st.builds(
    RejectedTransaction,
    tx_hash=st.binary(min_size=32, max_size=32).map(TxHash),
    sender=st.binary(min_size=20, max_size=20).map(Address),
    nonce=st.integers(0, LARGEST_NONCE),
    tx_rejection_stage=st.just(RejectionStage.SEQUENCER),
    reason_message=st.text(),
    timestamp=MOMENTS,
    block_number=st.none() | st.integers(0, 2**63 - 1),
)


def a_record(**changes: object) -> bytes:
    """Return the sequencer's recorded record with some members changed, or left out for ``...``."""
    members: dict[str, Any] = recorded("exclusion_get_response_sequencer_stage")["result"] | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


@pytest.mark.parametrize("name", RECORDINGS)
def test_recorded_record_is_written_as_it_was_read(name: str) -> None:
    result = recorded(f"exclusion_get_response_{name}")["result"]

    record = decode_record(json.dumps(result).encode())
    assert isinstance(record, RejectedTransaction)
    written = json.loads(encode_record(record))

    assert list(written.items()) == list(result.items())


def test_record_of_the_sequencer_is_read_in_full() -> None:
    assert decode_record(a_record()) == RejectedTransaction(
        tx_hash=TxHash.parse("2d6a11dd17c47e48083dc2c5f11106a059aa79918268591a822b3a027d25800e"),
        sender=Address.parse("3971292981aab0456bbbc199d527298355cbb514"),
        nonce=0x29,
        tx_rejection_stage=RejectionStage.SEQUENCER,
        reason_message="TX_MODULE_LINE_COUNT_OVERFLOW(MMU)",
        timestamp=datetime(2026, 11, 19, 22, 5, 3, tzinfo=UTC),
        block_number=0x1A2B3C,
    )


def test_record_that_is_null_is_none() -> None:
    assert decode_record(b"null") is None
    assert encode_record(None) == b"null"


@pytest.mark.parametrize("stage", ["RPC", "P2P"])
def test_block_number_is_shown_for_the_sequencer_only(stage: str) -> None:
    record = decode_record(a_record(txRejectionStage=stage))

    assert isinstance(record, RejectedTransaction)
    assert record.block_number == 0x1A2B3C
    assert "blockNumber" not in json.loads(encode_record(record))


def test_block_number_zero_is_shown() -> None:
    record = decode_record(a_record(blockNumber="0x0"))

    assert isinstance(record, RejectedTransaction)
    assert json.loads(encode_record(record))["blockNumber"] == "0x0"


@pytest.mark.parametrize("absent", [None, ...])
def test_block_number_may_be_absent(absent: object) -> None:
    record = decode_record(a_record(blockNumber=absent))

    assert isinstance(record, RejectedTransaction)
    assert record.block_number is None
    assert "blockNumber" not in json.loads(encode_record(record))


def test_record_with_members_unknown_to_us_keeps_them_word_for_word() -> None:
    record = decode_record(a_record(chainId="0x1", tip={"a": [1.50, "\u202e"]}, more=None))

    assert record == decode_record(a_record())
    assert record is not None
    assert record.added == r'{"chainId":"0x1","tip":{"a": [1.5, "\u202e"]}}'


def test_much_that_upstream_adds_is_cut() -> None:
    record = decode_record(a_record(more="x" * 100_000))

    assert record is not None
    assert record.added.startswith('{"more":"xxx')
    assert len(record.added) == LONGEST_ADDED + 1
    claim = decode_record(b'{"status":"%s"}' % (b"x" * 100_000))
    assert isinstance(claim, StatusClaim)
    assert len(claim.status) == LONGEST_ADDED + 1


@pytest.mark.parametrize("absent", [None, ...])
def test_what_a_record_leaves_out_is_unknown(absent: object) -> None:
    names = ("from", "nonce", "reasonMessage", "timestamp")

    record = decode_record(a_record(**dict.fromkeys(names, absent)))

    assert isinstance(record, RejectedTransaction)
    assert (record.sender, record.nonce, record.reason_message, record.timestamp) == (
        *(None, None, "", None),
    )
    assert record.tx_rejection_stage is RejectionStage.SEQUENCER
    assert decode_record(encode_record(record)) == record


def a_status(**changes: object) -> bytes:
    """Return the recorded status of another gateway, changed as `a_record` is."""
    members: dict[str, Any] = recorded("exclusion_get_response_excluded")["result"] | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def test_excluded_is_a_rejection_of_which_no_more_is_known_than_it_says() -> None:
    record = decode_record(a_status())

    assert record == RejectedTransaction(
        tx_hash=TxHash.parse("526e56101cf39c1e717cef9cedf6fdddb42684711abda35bae51136dbb350ad7"),
        sender=Address.parse("4d144d7b9c96b26361d6ac74dd1d8267edca4fc2"),
        nonce=None,
        tx_rejection_stage=RejectionStage.UNKNOWN,
        reason_message="Transaction line count for module ADD=402 is above the limit 70",
        timestamp=None,
    )
    assert not record.is_whole
    written = json.loads(encode_record(record))
    assert written == json.loads(a_status(blockNumber=...))


def test_excluded_may_name_nothing_but_its_hash() -> None:
    nothing = decode_record(a_status(**{"from": None}, reasonMessage=None, blockNumber=None))

    assert isinstance(nothing, RejectedTransaction)
    assert (nothing.sender, nothing.reason_message, nothing.added) == (None, "", "")


def test_block_beside_excluded_is_what_upstream_added_and_zero_is_nothing() -> None:
    later, zero = decode_record(a_status(blockNumber="0x1f")), decode_record(a_status())

    assert isinstance(later, RejectedTransaction)
    assert isinstance(zero, RejectedTransaction)
    assert (later.block_number, later.added) == (None, '{"blockNumber":"0x1f"}')
    assert (zero.block_number, zero.added) == (None, "")


@pytest.mark.parametrize("word", ["INCLUDED", "PENDING", "excluded", "<b>\u202e\0</b>", ""])
def test_any_other_status_is_no_rejection_and_its_word_is_kept(word: str) -> None:
    claim = decode_record(a_status(status=word, blockNumber="0x1f"))

    assert isinstance(claim, StatusClaim)
    assert (claim.status, claim.block_number) == (word, 31)
    assert json.loads(claim.added).keys() == {"from", "reasonMessage"}


def test_status_may_name_nothing_and_a_long_one_is_kept_whole() -> None:
    assert decode_record(b'{"txHash":null,"status":"PENDING"}') == StatusClaim("PENDING")
    claim = decode_record(json.dumps({"status": "x" * 5000}).encode())
    assert claim == StatusClaim("x" * 5000)


def test_record_with_a_stage_counts_whatever_its_status_says() -> None:
    record = decode_record(a_record(status="INCLUDED"))

    assert record == decode_record(a_record())
    assert record is not None
    assert record.added == '{"status":"INCLUDED"}'


@pytest.mark.parametrize(
    "changes",
    [
        {"txHash": None},
        {"txHash": "0x12"},
        {"from": 5},
        {"from": "0x12"},
        {"status": 5},
        {"status": None},
        {"reasonMessage": ["x"]},
        {"blockNumber": 0},
        {"blockNumber": "zero"},
        {"txRejectionStage": "unknown"},
    ],
)
def test_status_that_breaks_its_shape_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^exclusion record: ") as caught:
        decode_record(a_status(**changes))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "changes",
    [
        {"txHash": ...},
        {"txHash": 5},
        {"txHash": "0x12"},
        {"from": "0x" + "g" * 40},
        {"nonce": 41},
        {"nonce": "41"},
        {"nonce": "0x01"},
        {"nonce": hex(LARGEST_NONCE + 1)},
        {"txRejectionStage": "sequencer"},
        {"txRejectionStage": "unknown"},
        {"txRejectionStage": ...},
        {"txRejectionStage": "\u202eRPC" * 50},
        {"reasonMessage": 5},
        {"timestamp": "2026-11-18 07:41:12"},
        {"timestamp": 1763451672304},
        {"blockNumber": 5},
        {"blockNumber": ""},
        {"blockNumber": hex(2**63)},
    ],
)
def test_record_that_breaks_the_contract_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^exclusion record: ") as caught:
        decode_record(a_record(**changes))
    assert len(str(caught.value)) < 300
    assert str(caught.value).replace("…", "").isascii()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"text"',
        b"1e400000",
        b"NaN",
        b"[" * 100_000,
        b'{"txHash":"\xff"}',
        rb'{"txHash":"\ud800"}',
        b"<html>",
    ],
)
def test_text_that_is_no_record_is_refused(body: bytes) -> None:
    with pytest.raises(WireError, match=r"^exclusion record: "):
        decode_record(body)


@given(RECORDS)
def test_round_trip_keeps_every_record(record: RejectedTransaction) -> None:
    assert decode_record(encode_record(record)) == record


@given(st.binary())
def test_any_bytes_are_a_record_or_a_wire_error(body: bytes) -> None:
    try:
        record = decode_record(body)
    except WireError:
        return
    assert record is None


@pytest.mark.parametrize(
    ("name", "status"), [("saved", SaveStatus.SAVED), ("duplicate", SaveStatus.DUPLICATE)]
)
def test_recorded_answer_to_a_report_is_written_as_it_was_read(
    name: str, status: SaveStatus
) -> None:
    result = recorded(f"exclusion_save_response_{name}")["result"]

    answer = decode_saved(json.dumps(result).encode())

    assert answer == (status, TxHash.parse(result["txHash"]))
    assert json.loads(encode_saved(*answer)) == result


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"{}",
        b'{"status":"SAVED"}',
        b'{"status":"LOST","txHash":"0x%b"}' % (b"00" * 32),
        b'{"status":"SAVED","txHash":"0x12"}',
    ],
)
def test_answer_to_a_report_in_another_form_is_refused(body: bytes) -> None:
    with pytest.raises(WireError, match=r"^answer to a report: "):
        decode_saved(body)


def test_method_is_named_after_the_brand_of_the_network() -> None:
    assert method_name("linea", GET_STATUS) == "linea_getTransactionExclusionStatusV1"
    assert method_name("chain", SAVE_REJECTED) == "chain_saveRejectedTransactionV1"


@pytest.mark.parametrize(
    "text", [str(HASH), HASH.hex(), HASH.hex().upper(), f"0X{HASH.hex().upper()}"]
)
def test_hash_is_read_in_either_case_with_or_without_prefix(text: str) -> None:
    assert decode_hash_param([text]) == HASH


UNPARSED: Final = "Hex string of transaction hash cannot be parsed: "


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "The given request params list should have one argument"),
        (["0x", "0x"], "The given request params list should have one argument"),
        ({}, "params should be a list"),
        (None, "params should be a list"),
        (["0x123"], f"{UNPARSED}Must have an even length"),
        (["0xg"], f"{UNPARSED}Must have an even length"),
        ([f"0x{'00' * 31}"], f"{UNPARSED} expected to have 32 bytes, but got 31"),
        ([f"0x{'00' * 33}"], f"{UNPARSED} expected to have 32 bytes, but got 33"),
        (["0x"], f"{UNPARSED} expected to have 32 bytes, but got 0"),
        ([""], f"{UNPARSED} expected to have 32 bytes, but got 0"),
        (["0x0g"], f"{UNPARSED}'g' at index 3 is not a hexadecimal digit"),
        ([" 0x0"], f"{UNPARSED}' ' at index 0 is not a hexadecimal digit"),
        (["0x\u0661\u202e"], f"{UNPARSED}'\\u0661' at index 2 is not a hexadecimal digit"),
        ([12], f"{UNPARSED} expected to have 32 bytes, but got 1"),
        ([-1.5], f"{UNPARSED}'-' at index 0 is not a hexadecimal digit"),
        ([10**40], f"{UNPARSED}Must have an even length"),
        ([None], f"{UNPARSED}'n' at index 0 is not a hexadecimal digit"),
        ([True], f"{UNPARSED}'t' at index 0 is not a hexadecimal digit"),
        ([False], f"{UNPARSED}Must have an even length"),
        ([{}], f"{UNPARSED}a list or an object stands where a text belongs"),
        ([[str(HASH)]], f"{UNPARSED}a list or an object stands where a text belongs"),
    ],
)
def test_params_that_are_no_hash_are_refused_word_for_word(params: object, message: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_hash_param(params)
    assert str(caught.value) == message


def test_recorded_refusals_of_hashes_are_ours_word_for_word() -> None:
    cases = {case["case"]: case["body"]["error"] for case in recorded("exclusion_errors")}
    for case, params in {
        "get: params []": [],
        "get: params is object": {},
        "get: odd-length hash": ["0x1"],
    }.items():
        with pytest.raises(WireError) as caught:
            decode_hash_param(params)
        assert str(caught.value) == cases[case]["message"]
