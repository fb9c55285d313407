"""The gas REST API: its four answers, in plain decimal gwei, and its errors.

Source: the published reference of the gas API; where it leaves order or format open, we chose.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Final

import msgspec

from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.quantity import Wei, format_gwei, parse_gwei
from dashboard.wire.decoding import named, read

_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Word = Annotated[str, msgspec.Meta(max_length=64)]

_HISTORY: Final = msgspec.json.Decoder(list[str])


class _SuggestionJson(msgspec.Struct, rename="camel"):
    suggested_max_priority_fee_per_gas: str
    suggested_max_fee_per_gas: str
    min_wait_time_estimate: _Milliseconds
    max_wait_time_estimate: _Milliseconds


class _SuggestedGasFeesJson(msgspec.Struct, rename="camel", omit_defaults=True):
    low: _SuggestionJson
    medium: _SuggestionJson
    high: _SuggestionJson
    estimated_base_fee: str
    network_congestion: _Share
    latest_priority_fee_range: tuple[str, str]
    historical_priority_fee_range: tuple[str, str]
    historical_base_fee_range: tuple[str, str]
    priority_fee_trend: _Word
    base_fee_trend: _Word
    version: _Word | None = None


class _PercentileJson(msgspec.Struct, rename="camel"):
    base_fee_percentile: str


class _ThresholdJson(msgspec.Struct, rename="camel"):
    busy_threshold: str


_SUGGESTED: Final = msgspec.json.Decoder(_SuggestedGasFeesJson)
_PERCENTILE: Final = msgspec.json.Decoder(_PercentileJson)
_THRESHOLD: Final = msgspec.json.Decoder(_ThresholdJson)


def decode_suggested_gas_fees(body: bytes) -> SuggestedGasFees:
    """Decode ``suggestedGasFees``; undocumented members are ignored."""
    return named("suggestedGasFees", _fees, read(_SUGGESTED, body, "suggestedGasFees"))


def _fees(fees: _SuggestedGasFeesJson) -> SuggestedGasFees:
    return SuggestedGasFees(
        low=_suggestion(fees.low),
        medium=_suggestion(fees.medium),
        high=_suggestion(fees.high),
        estimated_base_fee=parse_gwei(fees.estimated_base_fee),
        network_congestion=fees.network_congestion,
        latest_priority_fee_range=_fee_range(fees.latest_priority_fee_range),
        historical_priority_fee_range=_fee_range(fees.historical_priority_fee_range),
        historical_base_fee_range=_fee_range(fees.historical_base_fee_range),
        priority_fee_trend=fees.priority_fee_trend,
        base_fee_trend=fees.base_fee_trend,
        version=fees.version,
    )


def _suggestion(level: _SuggestionJson) -> FeeSuggestion:
    return FeeSuggestion(
        parse_gwei(level.suggested_max_priority_fee_per_gas),
        parse_gwei(level.suggested_max_fee_per_gas),
        timedelta(milliseconds=level.min_wait_time_estimate),
        timedelta(milliseconds=level.max_wait_time_estimate),
    )


def _fee_range(texts: tuple[str, str]) -> tuple[Wei, Wei]:
    return parse_gwei(texts[0]), parse_gwei(texts[1])


def encode_suggested_gas_fees(fees: SuggestedGasFees) -> bytes:
    """Encode ``suggestedGasFees`` in the documented order; ``version`` only if it is known."""
    return msgspec.json.encode(
        _SuggestedGasFeesJson(
            low=_level(fees.low),
            medium=_level(fees.medium),
            high=_level(fees.high),
            estimated_base_fee=format_gwei(fees.estimated_base_fee),
            network_congestion=fees.network_congestion,
            latest_priority_fee_range=_texts(fees.latest_priority_fee_range),
            historical_priority_fee_range=_texts(fees.historical_priority_fee_range),
            historical_base_fee_range=_texts(fees.historical_base_fee_range),
            priority_fee_trend=fees.priority_fee_trend,
            base_fee_trend=fees.base_fee_trend,
            version=fees.version,
        )
    )


def _level(suggestion: FeeSuggestion) -> _SuggestionJson:
    millisecond = timedelta(milliseconds=1)
    return _SuggestionJson(
        format_gwei(suggestion.suggested_max_priority_fee_per_gas),
        format_gwei(suggestion.suggested_max_fee_per_gas),
        suggestion.min_wait_time_estimate // millisecond,
        suggestion.max_wait_time_estimate // millisecond,
    )


def _texts(fee_range: tuple[Wei, Wei]) -> tuple[str, str]:
    return format_gwei(fee_range[0]), format_gwei(fee_range[1])


def decode_base_fee_history(body: bytes) -> tuple[Wei, ...]:
    """Read ``baseFeeHistory`` in the order sent."""
    texts = read(_HISTORY, body, "baseFeeHistory")
    return tuple(named("baseFeeHistory", parse_gwei, text) for text in texts)


def encode_base_fee_history(base_fees: Iterable[Wei]) -> bytes:
    """Write ``baseFeeHistory``; we send the oldest block first."""
    return msgspec.json.encode([format_gwei(base_fee) for base_fee in base_fees])


def decode_base_fee_percentile(body: bytes) -> Wei:
    """Read ``baseFeePercentile``, the 50th percentile of base fees."""
    answer = read(_PERCENTILE, body, "baseFeePercentile")
    return named("baseFeePercentile", parse_gwei, answer.base_fee_percentile)


def encode_base_fee_percentile(base_fee: Wei) -> bytes:
    """Write ``baseFeePercentile``."""
    return msgspec.json.encode(_PercentileJson(format_gwei(base_fee)))


def decode_busy_threshold(body: bytes) -> Wei:
    """Read ``busyThreshold``, the 90th percentile of base fees."""
    answer = read(_THRESHOLD, body, "busyThreshold")
    return named("busyThreshold", parse_gwei, answer.busy_threshold)


def encode_busy_threshold(base_fee: Wei) -> bytes:
    """Write ``busyThreshold``."""
    return msgspec.json.encode(_ThresholdJson(format_gwei(base_fee)))


class _GasErrorJson(msgspec.Struct, rename="camel"):
    status_code: int
    message: str


def encode_error(status: int, message: str) -> bytes:
    """Encode an error as the gas API does: ``{"statusCode": N, "message": "…"}``."""
    return msgspec.json.encode(_GasErrorJson(status, message))
