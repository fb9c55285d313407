"""Reports of nodes: recorded forms, round trips, and the exact text of every refusal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.rejections.exclusion import (
    WIRE_STAGES,
    ModuleOverflow,
    RejectionReport,
    RejectionStage,
)
from dashboard.errors import WireError
from dashboard.wire.rejection_report import decode_report, encode_report
from dashboard.wire.transaction import decode_transaction
from tests.recorded import recorded

VECTORS: Final = recorded("signed_transactions")["vectors"]
RAW: Final = bytes.fromhex(VECTORS[3]["transactionRLP"][2:])
NUMBERS: Final = st.integers(0, 2**63 - 1)
REPORTS: Final = st.builds(
    RejectionReport,
    transaction=st.just(decode_transaction(RAW)),
    tx_rejection_stage=st.sampled_from(WIRE_STAGES),
    reason_message=st.text(min_size=0, max_size=1024),
    timestamp=st.datetimes(timezones=st.just(UTC)).map(
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    ),
    block_number=st.none() | NUMBERS,
    overflows=st.lists(
        st.builds(ModuleOverflow, module=st.text(), count=NUMBERS, limit=NUMBERS), max_size=3
    ).map(tuple),
)


def an_argument(**changes: object) -> dict[str, Any]:
    """Return a node's recorded report with some keys changed, or left out for ``...``."""
    params: dict[str, Any] = recorded("exclusion_save_request_rpc_node")["params"] | changes
    return {key: value for key, value in params.items() if value is not ...}


def refusal(params: object) -> str:
    with pytest.raises(WireError) as caught:
        decode_report(params)
    return str(caught.value)


def test_report_of_an_rpc_node_is_read() -> None:
    report = decode_report(an_argument())

    assert report.tx_rejection_stage is RejectionStage.RPC
    assert report.timestamp == datetime(2026, 11, 18, 7, 41, 12, 304_000, UTC)
    assert (report.block_number, report.overflows) == (None, ())
    assert report.transaction == decode_transaction(RAW)


def test_report_of_a_sequencer_is_read_from_a_list() -> None:
    report = decode_report(recorded("exclusion_save_request_sequencer")["params"])

    assert report.tx_rejection_stage is RejectionStage.SEQUENCER
    assert report.timestamp == datetime(2026, 11, 19, 22, 5, 3, tzinfo=UTC)
    assert report.block_number == 1715004
    assert report.overflows == (
        ModuleOverflow("MMU", 2200000, 2097152),
        ModuleOverflow("EXT", 1310720, 1048576),
    )


def test_report_shows_the_record_that_was_recorded_for_it() -> None:
    record = decode_report(an_argument()).record()

    answer = recorded("exclusion_get_response_rpc_stage")["result"]
    assert str(record.tx_hash) == answer["txHash"]
    assert record.reason_message == answer["reasonMessage"]


@given(REPORTS)
def test_round_trip_keeps_every_report(report: RejectionReport) -> None:
    sent = msgspec.json.decode(msgspec.json.encode([encode_report(report)]))

    assert decode_report(sent) == report


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_report_takes_every_form_of_a_signed_transaction(vector: dict[str, str]) -> None:
    forms = [text for key, text in vector.items() if key.startswith("transactionRLP")]
    for form in [*forms, forms[0].removeprefix("0x").upper()]:
        report = decode_report(an_argument(transactionRLP=form))
        assert str(report.transaction.tx_hash) == vector["hash"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([], "The given request params list should have one argument"),
        ([{}, {}], "The given request params list should have one argument"),
        (["0x"], "The argument in the request params list should be an object"),
        ([None], "The argument in the request params list should be an object"),
        (None, "params should be either an object or a list"),
        (msgspec.UNSET, "params should be either an object or a list"),
        (
            {},
            (
                "Missing [txRejectionStage,timestamp,reasonMessage,transactionRLP,overflows] "
                "from the given request params"
            ),
        ),
        (
            an_argument(overflows=..., timestamp=None),
            "Missing [timestamp,overflows] from the given request params",
        ),
        (an_argument(extra=1, a=2), "Unknown key 'a' in the given request params"),
        (an_argument(txRejectionStage="X"), "Unsupported transaction rejection stage: X"),
        (an_argument(txRejectionStage=5), "Unsupported transaction rejection stage: 5"),
        (
            an_argument(txRejectionStage=["RPC"]),
            (
                "Unsupported transaction rejection stage: "
                "a list or an object stands where a text belongs"
            ),
        ),
        (
            an_argument(reasonMessage="x" * 1025),
            f"Reason message should not be more than 1024 characters: {'x' * 1025}",
        ),
        (an_argument(reasonMessage=5), "Reason message is not a text"),
        (
            an_argument(transactionRLP="0x1"),
            "Hex string of RLP-encoded transaction cannot be parsed: Must have an even length",
        ),
        (
            an_argument(transactionRLP="0xzz"),
            (
                "Hex string of RLP-encoded transaction cannot be parsed: "
                "'z' at index 2 is not a hexadecimal digit"
            ),
        ),
        (an_argument(transactionRLP="0x"), "RLP-encoded transaction cannot be parsed: it is empty"),
        (
            an_argument(transactionRLP="0x05c0"),
            "RLP-encoded transaction cannot be parsed: transaction type 0x05 is not known",
        ),
    ],
)
def test_report_that_cannot_be_used_is_refused_word_for_word(params: object, message: str) -> None:
    assert refusal(params) == message


@pytest.mark.parametrize("block", [0, "00", "007", 2**63 - 1, "0099999999999999999"])
def test_block_number_is_a_decimal_as_number_or_text(block: object) -> None:
    assert decode_report(an_argument(blockNumber=block)).block_number == int(str(block))


@pytest.mark.parametrize(
    "block", [-1, "-2", "+1", "0x1a", "", " 1", "1e3", 1.0, 1e300, True, 2**63, "9" * 5000, [], {}]
)
def test_block_number_in_another_form_is_refused(block: object) -> None:
    message = refusal(an_argument(blockNumber=block))

    assert message.startswith("Block number cannot be parsed to an unsigned number: ")
    assert len(message) < 300


def test_reason_of_exactly_1024_characters_is_taken() -> None:
    reason = "🔑" * 1024

    assert decode_report(an_argument(reasonMessage=reason)).reason_message == reason


def test_overflow_numbers_may_be_texts() -> None:
    overflow = {"module": "ADD", "count": "600000", "limit": "524288"}

    report = decode_report(an_argument(overflows=[overflow]))

    assert report.overflows == (ModuleOverflow("ADD", 600000, 524288),)


@pytest.mark.parametrize(
    "overflows",
    [
        {},
        "[]",
        [1],
        [{}],
        [{"module": "A", "count": 1}],
        [{"module": "A", "count": 1, "limit": 1, "extra": 1}],
        [{"module": None, "count": 1, "limit": 1}],
        [{"module": 5, "count": 1, "limit": 1}],
        [{"module": "A", "count": -1, "limit": 1}],
        [{"module": "A", "count": 1.5, "limit": 1}],
        [{"module": "A", "count": "1e3", "limit": 1}],
        [{"module": "A", "count": 1, "limit": None}],
        [{"module": "A", "count": 1, "limit": 2**63}],
    ],
)
def test_overflows_in_another_form_are_refused(overflows: object) -> None:
    assert refusal(an_argument(overflows=overflows)).startswith("Overflows cannot be parsed: ")


def test_recorded_refusals_of_reports_are_ours_word_for_word() -> None:
    cases = {case["case"]: case["body"]["error"] for case in recorded("exclusion_errors")}

    assert refusal({}) == cases["save: {} "]["message"]
    stage = refusal(an_argument(txRejectionStage="sequencer"))
    assert stage == cases['save: stage "sequencer"']["message"]
