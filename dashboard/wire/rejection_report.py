"""Reports of rejected transactions: the params of `saveRejectedTransactionV1`.

A WireError's message is that of the -32602 reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from dashboard.domain.quantity import shorten
from dashboard.domain.rejections.exclusion import (
    WIRE_STAGES,
    ModuleOverflow,
    RejectionReport,
    RejectionStage,
    SignedTransaction,
)
from dashboard.errors import WireError
from dashboard.wire.decoding import format_timestamp, named, parse_timestamp
from dashboard.wire.node import LARGEST_NUMBER
from dashboard.wire.params import hex_bytes, one_argument, scalar_text
from dashboard.wire.transaction import decode_transaction

LONGEST_REASON: Final = 1024
"""Characters of a reason message; a longer one is refused."""

_REQUIRED: Final = (
    "txRejectionStage",
    "timestamp",
    "reasonMessage",
    "transactionRLP",
    "overflows",
)
_KNOWN: Final = frozenset({*_REQUIRED, "blockNumber"})
_OVERFLOW_KEYS: Final = frozenset({"module", "count", "limit"})
_DECIMAL: Final = re.compile(r"\d{1,19}", re.ASCII)


def encode_report(report: RejectionReport) -> dict[str, object]:
    """Build the single param of the call, ready for JSON; it may also be put into a list."""
    block = {} if report.block_number is None else {"blockNumber": report.block_number}
    return {
        "txRejectionStage": str(report.tx_rejection_stage),
        "timestamp": format_timestamp(report.timestamp),
        **block,
        "transactionRLP": f"0x{report.transaction.raw.hex()}",
        "reasonMessage": report.reason_message,
        "overflows": [
            {"module": each.module, "count": each.count, "limit": each.limit}
            for each in report.overflows
        ],
    }


def decode_report(params: object) -> RejectionReport:
    """Read the params of the call: an object, or a list with exactly one."""
    argument = _argument(params)
    _check_keys(argument)
    return RejectionReport(
        tx_rejection_stage=named(
            "Unsupported transaction rejection stage", _stage, argument["txRejectionStage"]
        ),
        timestamp=named("Timestamp is not in ISO-8601", _timestamp, argument["timestamp"]),
        block_number=named(
            "Block number cannot be parsed to an unsigned number",
            _block_number,
            argument.get("blockNumber"),
        ),
        transaction=_transaction(argument["transactionRLP"]),
        reason_message=_reason(argument["reasonMessage"]),
        overflows=named("Overflows cannot be parsed", _overflows, argument["overflows"]),
    )


def _argument(params: object) -> dict[str, Any]:
    if isinstance(params, dict):
        return params
    if not isinstance(params, list):
        raise WireError("params should be either an object or a list")
    argument = one_argument(params)
    if not isinstance(argument, dict):
        raise WireError("The argument in the request params list should be an object")
    return argument


def _check_keys(argument: Mapping[str, object]) -> None:
    missing = [key for key in _REQUIRED if argument.get(key) is None]
    if missing:
        raise WireError(f"Missing [{','.join(missing)}] from the given request params")
    unknown = sorted(argument.keys() - _KNOWN)
    if unknown:
        raise WireError(f"Unknown key {shorten(unknown[0])} in the given request params")


def _stage(value: object) -> RejectionStage:
    text = scalar_text(value)
    if text not in WIRE_STAGES:
        raise WireError(text)
    return RejectionStage(text)


def _timestamp(value: object) -> datetime:
    return parse_timestamp(scalar_text(value))


def _block_number(value: object) -> int | None:
    return None if value is None else _unsigned(value)


def _unsigned(value: object) -> int:
    text = scalar_text(value)
    if not _DECIMAL.fullmatch(text) or int(text) > LARGEST_NUMBER:
        raise WireError(f"{shorten(text)} is not a whole number of 0 to {LARGEST_NUMBER}")
    return int(text)


def _transaction(value: object) -> SignedTransaction:
    complaint = "Hex string of RLP-encoded transaction cannot be parsed"
    raw = named(complaint, _bytes, value)
    return named("RLP-encoded transaction cannot be parsed", decode_transaction, raw)


def _bytes(value: object) -> bytes:
    return hex_bytes(scalar_text(value))


def _reason(value: object) -> str:
    if not isinstance(value, str):
        raise WireError("Reason message is not a text")
    if len(value) > LONGEST_REASON:
        raise WireError(
            f"Reason message should not be more than {LONGEST_REASON} characters: {value}"
        )
    return value


def _overflows(value: object) -> tuple[ModuleOverflow, ...]:
    if not isinstance(value, list):
        raise WireError("they are not a list")
    return tuple(_overflow(element) for element in value)


def _overflow(value: object) -> ModuleOverflow:
    if not isinstance(value, dict) or value.keys() != _OVERFLOW_KEYS:
        raise WireError("an element has exactly the keys module, count and limit")
    if not isinstance(value["module"], str):
        raise WireError("a module is a text")
    return ModuleOverflow(value["module"], _unsigned(value["count"]), _unsigned(value["limit"]))
