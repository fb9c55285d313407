"""The gas API: recorded answers, round trips and hostile input."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.errors import WireError
from dashboard.wire.gas import (
    decode_base_fee_history,
    decode_base_fee_percentile,
    decode_busy_threshold,
    decode_suggested_gas_fees,
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
    encode_error,
    encode_suggested_gas_fees,
)
from tests.recorded import recorded, recording

FEES: Final = st.integers(0, LARGEST_FEE).map(Wei)
RANGES: Final = st.tuples(FEES, FEES)
WAITS: Final = st.integers(0, 10**12).map(lambda count: timedelta(milliseconds=count))
SUGGESTIONS: Final = st.builds(FeeSuggestion, FEES, FEES, WAITS, WAITS)
SUGGESTED: Final = st.builds(
    SuggestedGasFees,
    low=SUGGESTIONS,
    medium=SUGGESTIONS,
    high=SUGGESTIONS,
    estimated_base_fee=FEES,
    network_congestion=st.floats(0, 1),
    latest_priority_fee_range=RANGES,
    historical_priority_fee_range=RANGES,
    historical_base_fee_range=RANGES,
    priority_fee_trend=st.text(max_size=64),
    base_fee_trend=st.sampled_from(["up", "down", "level"]),
    version=st.none() | st.text(max_size=64),
)
DECODERS: Final[list[Callable[[bytes], object]]] = [
    decode_suggested_gas_fees,
    decode_base_fee_history,
    decode_base_fee_percentile,
    decode_busy_threshold,
]


def suggested(**changes: object) -> bytes:
    """Return the recorded answer with some members changed, or left out for ``...``."""
    members: dict[str, Any] = recorded("gas_suggestedGasFees") | changes
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def with_low(**changes: object) -> bytes:
    return suggested(low=recorded("gas_suggestedGasFees")["low"] | changes)


@pytest.mark.parametrize("name", ["gas_suggestedGasFees", "gas_suggestedGasFees_flat_fee"])
def test_recorded_suggestion_is_written_as_it_was_read(name: str) -> None:
    written = json.loads(encode_suggested_gas_fees(decode_suggested_gas_fees(recording(name))))

    assert list(written.items()) == list(recorded(name).items())


def test_recorded_suggestion_is_read_in_exact_wei_and_time() -> None:
    fees = decode_suggested_gas_fees(recording("gas_suggestedGasFees"))

    assert fees.low == FeeSuggestion(
        Wei(50_000_000), Wei(11_284_610_275), timedelta(seconds=15), timedelta(seconds=30)
    )
    assert fees.estimated_base_fee == 11_234_610_275
    assert fees.historical_priority_fee_range == (1, 61_200_000_000)
    assert (fees.network_congestion, fees.priority_fee_trend, fees.version) == (
        0.41235,
        "down",
        "0.0.1",
    )


def test_version_is_written_only_where_there_is_one() -> None:
    fees = decode_suggested_gas_fees(suggested(version=None))

    assert "version" not in json.loads(encode_suggested_gas_fees(fees))


def test_recorded_history_is_written_as_it_was_read() -> None:
    history = decode_base_fee_history(recording("gas_baseFeeHistory"))

    assert history[-1] == 7
    assert json.loads(encode_base_fee_history(history)) == recorded("gas_baseFeeHistory")


def test_recorded_percentile_is_written_as_it_was_read() -> None:
    percentile = decode_base_fee_percentile(recording("gas_baseFeePercentile"))

    assert percentile == 10_447_100_000
    assert json.loads(encode_base_fee_percentile(percentile)) == recorded("gas_baseFeePercentile")


def test_recorded_threshold_is_written_as_it_was_read() -> None:
    threshold = decode_busy_threshold(recording("gas_busyThreshold"))

    assert threshold == 13_250_000_001
    assert json.loads(encode_busy_threshold(threshold)) == recorded("gas_busyThreshold")


def test_fee_of_a_few_wei_is_written_without_an_exponent() -> None:
    assert encode_base_fee_history([Wei(7), Wei(0), Wei(20 * 10**9)]) == (
        b'["0.000000007","0","20"]'
    )


@given(SUGGESTED)
def test_round_trip_keeps_every_suggestion(fees: SuggestedGasFees) -> None:
    assert decode_suggested_gas_fees(encode_suggested_gas_fees(fees)) == fees


@given(st.lists(FEES).map(tuple))
def test_round_trip_keeps_every_history(history: tuple[Wei, ...]) -> None:
    assert decode_base_fee_history(encode_base_fee_history(history)) == history


@given(FEES)
def test_round_trip_keeps_percentile_and_threshold(fee: Wei) -> None:
    assert decode_base_fee_percentile(encode_base_fee_percentile(fee)) == fee
    assert decode_busy_threshold(encode_busy_threshold(fee)) == fee


@pytest.mark.parametrize(
    "body",
    [
        suggested(low=...),
        suggested(low=None),
        suggested(estimatedBaseFee=11.2),
        suggested(estimatedBaseFee="1e9"),
        suggested(estimatedBaseFee="1e400000"),
        suggested(estimatedBaseFee="7E-9"),
        suggested(estimatedBaseFee="-1"),
        suggested(estimatedBaseFee="NaN"),
        suggested(estimatedBaseFee="1.0000000001"),
        suggested(estimatedBaseFee="9223372036.854775808"),
        suggested(estimatedBaseFee="9" * 100_000),
        suggested(estimatedBaseFee="\u0661"),
        suggested(networkCongestion="0.5"),
        suggested(networkCongestion=-0.1),
        suggested(networkCongestion=1.1),
        suggested(networkCongestion=None),
        suggested(latestPriorityFeeRange=["1"]),
        suggested(latestPriorityFeeRange=["1", "2", "3"]),
        suggested(latestPriorityFeeRange=None),
        suggested(historicalBaseFeeRange=["1", 2]),
        suggested(priorityFeeTrend=5),
        suggested(baseFeeTrend="x" * 65),
        suggested(version=1),
        with_low(minWaitTimeEstimate=-1),
        with_low(minWaitTimeEstimate=1.5),
        with_low(minWaitTimeEstimate="15000"),
        with_low(maxWaitTimeEstimate=10**13),
        with_low(maxWaitTimeEstimate=10**400),
        with_low(suggestedMaxFeePerGas=None),
        suggested().replace(b"0.41235", b"1e400000"),
        suggested().replace(b"0.41235", b"NaN"),
        suggested().replace(b"15000", b"1e400000"),
        suggested().replace(b"15000", b"1.5e4"),
    ],
    ids=range(33),
)
def test_suggestion_that_breaks_the_contract_is_refused(body: bytes) -> None:
    with pytest.raises(WireError, match=r"^suggestedGasFees: ") as caught:
        decode_suggested_gas_fees(body)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("decode", "body"),
    [
        (decode_base_fee_history, b"{}"),
        (decode_base_fee_history, b"[1]"),
        (decode_base_fee_history, b'["1",null]'),
        (decode_base_fee_history, b'["0x1"]'),
        (decode_base_fee_percentile, b'{"baseFeePercentile":1}'),
        (decode_base_fee_percentile, b'{"baseFeePercentile":""}'),
        (decode_base_fee_percentile, b'{"busyThreshold":"1"}'),
        (decode_busy_threshold, b'{"busyThreshold":".5"}'),
        (decode_busy_threshold, b'{"busyThreshold":"5."}'),
        (decode_busy_threshold, b'"5"'),
    ],
)
def test_fee_in_another_form_is_refused(decode: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(WireError, match=r"^(baseFee|busyThreshold)"):
        decode(body)


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"<html>", b"[" * 100_000, b'{"a":' * 100_000, rb'["\ud800"]', b'["\xff"]'],
    ids=["empty", "null", "html", "lists", "objects", "surrogate", "not utf-8"],
)
def test_text_that_is_no_answer_is_refused(decode: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


@given(st.binary())
def test_any_bytes_are_an_answer_or_a_wire_error(body: bytes) -> None:
    for decode in DECODERS:
        try:
            answer = decode(body)
        except WireError:
            continue
        assert answer == ()


def test_error_is_written_in_the_recorded_form() -> None:
    (body,) = (
        each["body"] for each in recorded("gas_errors") if each["case"] == "unsupported chain"
    )

    assert json.loads(encode_error(body["statusCode"], body["message"])) == body
