"""`suggestedGasFees` as one row: every value in a column of its own."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import RowMapping

from dashboard.domain.gas import FeeSuggestion, SuggestedGasFees

_AS_THEY_ARE: Final = (
    "estimated_base_fee",
    "network_congestion",
    "priority_fee_trend",
    "base_fee_trend",
    "version",
)


def row_of_fees(fees: SuggestedGasFees) -> dict[str, Any]:
    """Lay the values out as columns."""
    row = {name: getattr(fees, name) for name in _AS_THEY_ARE}
    for level, suggestion in (("low", fees.low), ("medium", fees.medium), ("high", fees.high)):
        row |= {
            f"{level}_max_priority_fee": suggestion.suggested_max_priority_fee_per_gas,
            f"{level}_max_fee": suggestion.suggested_max_fee_per_gas,
            f"{level}_min_wait": suggestion.min_wait_time_estimate,
            f"{level}_max_wait": suggestion.max_wait_time_estimate,
        }
    for name, (smallest, largest) in (
        ("latest_priority_fee", fees.latest_priority_fee_range),
        ("historical_priority_fee", fees.historical_priority_fee_range),
        ("historical_base_fee", fees.historical_base_fee_range),
    ):
        row |= {f"{name}_from": smallest, f"{name}_to": largest}
    return row


def fees_of_row(row: RowMapping) -> SuggestedGasFees:
    """Read the columns back."""
    return SuggestedGasFees(
        low=_suggestion(row, "low"),
        medium=_suggestion(row, "medium"),
        high=_suggestion(row, "high"),
        latest_priority_fee_range=_range(row, "latest_priority_fee"),
        historical_priority_fee_range=_range(row, "historical_priority_fee"),
        historical_base_fee_range=_range(row, "historical_base_fee"),
        **{name: row[name] for name in _AS_THEY_ARE},
    )


def _suggestion(row: RowMapping, level: str) -> FeeSuggestion:
    return FeeSuggestion(
        row[f"{level}_max_priority_fee"],
        row[f"{level}_max_fee"],
        row[f"{level}_min_wait"],
        row[f"{level}_max_wait"],
    )


def _range(row: RowMapping, name: str) -> tuple[Any, Any]:
    return row[f"{name}_from"], row[f"{name}_to"]
