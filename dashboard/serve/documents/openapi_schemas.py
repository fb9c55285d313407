"""What the gas API's replies look like: a schema and an example of each, for its document."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from dashboard.domain.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.upstream.node_status import NodeState
from dashboard.wire.gas import (
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
    encode_suggested_gas_fees,
)

_Json = dict[str, Any]


def ref(name: str) -> _Json:
    """Point to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(members: Mapping[str, _Json], *, required: bool = True) -> _Json:
    return {
        "type": "object",
        "properties": dict(members),
        "required": list(members) if required else [],
        "additionalProperties": False,
    }


def _level(priority: int, most: int, longest: int) -> FeeSuggestion:
    return FeeSuggestion(
        Wei(priority), Wei(most), timedelta(seconds=15), timedelta(seconds=longest)
    )


_TREND: Final = {"type": "string", "enum": ["up", "down", "level"]}
_MILLISECONDS: Final = {"type": "integer", "minimum": 0}
_RANGE: Final = {"type": "array", "items": ref("Gwei"), "minItems": 2, "maxItems": 2}

SCHEMAS: Final[_Json] = {
    "Gwei": {
        "type": "string",
        "description": "Plain decimal gwei: no exponent, no trailing zeros, at most 9 decimals",
        "pattern": r"^(0|[1-9][0-9]*)(\.[0-9]{0,8}[1-9])?$",
    },
    "FeeSuggestion": _object(
        {
            "suggestedMaxPriorityFeePerGas": ref("Gwei"),
            "suggestedMaxFeePerGas": ref("Gwei"),
            "minWaitTimeEstimate": _MILLISECONDS,
            "maxWaitTimeEstimate": _MILLISECONDS,
        }
    ),
    "SuggestedGasFees": _object(
        {
            "low": ref("FeeSuggestion"),
            "medium": ref("FeeSuggestion"),
            "high": ref("FeeSuggestion"),
            "estimatedBaseFee": ref("Gwei"),
            "networkCongestion": {"type": "number", "minimum": 0, "maximum": 1},
            "latestPriorityFeeRange": _RANGE,
            "historicalPriorityFeeRange": _RANGE,
            "historicalBaseFeeRange": _RANGE,
            "priorityFeeTrend": _TREND,
            "baseFeeTrend": _TREND,
        }
    ),
    "BaseFeeHistory": {"type": "array", "items": ref("Gwei"), "minItems": 1, "maxItems": 500},
    "BaseFeePercentile": _object({"baseFeePercentile": ref("Gwei")}),
    "BusyThreshold": _object({"busyThreshold": ref("Gwei")}),
    "Error": _object(
        {
            "statusCode": {"type": "integer", "minimum": 400, "maximum": 599},
            "message": {"type": "string"},
        }
    ),
    "Node": _object(
        {
            "node": {"type": "string"},
            "state": {"type": "string", "enum": [str(state) for state in NodeState]},
            "why": {"type": "string"},
        }
    ),
    "Health": {
        **_object(
            {
                "status": {"type": "string", "enum": ["OK", "UNAVAILABLE"]},
                "reasons": {"type": "array", "items": {"type": "string"}},
                "nodes": {
                    "type": "object",
                    "description": "The nodes of each network that has several.",
                    "additionalProperties": {"type": "array", "items": ref("Node")},
                },
            }
        ),
        "required": ["status"],
    },
}

_GWEI: Final = 10**9

EXAMPLES: Final[Mapping[str, bytes]] = {
    Operation.SUGGESTED_GAS_FEES: encode_suggested_gas_fees(
        SuggestedGasFees(
            low=_level(_GWEI, 21 * _GWEI, 30),
            medium=_level(3 * _GWEI // 2, 25 * _GWEI, 45),
            high=_level(2 * _GWEI, 30 * _GWEI, 60),
            estimated_base_fee=Wei(18_250_000_000),
            network_congestion=0.5125,
            latest_priority_fee_range=(Wei(_GWEI), Wei(3 * _GWEI)),
            historical_priority_fee_range=(Wei(10_000_000), Wei(50 * _GWEI)),
            historical_base_fee_range=(Wei(12 * _GWEI), Wei(31 * _GWEI)),
            priority_fee_trend="level",
            base_fee_trend="up",
        )
    ),
    Operation.BASE_FEE_HISTORY: encode_base_fee_history([Wei(18 * _GWEI), Wei(18_250_000_000)]),
    Operation.BASE_FEE_PERCENTILE: encode_base_fee_percentile(Wei(17 * _GWEI)),
    Operation.BUSY_THRESHOLD: encode_busy_threshold(Wei(26 * _GWEI)),
}
