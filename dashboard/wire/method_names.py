"""The methods that API keys can be limited to: of the RPC, without prefix, and gas operations."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import shorten

GET_STATUS: Final = "getTransactionExclusionStatusV1"
SAVE_REJECTED: Final = "saveRejectedTransactionV1"

METHODS: Final = (
    GET_STATUS,
    SAVE_REJECTED,
    "listRejectionsV1",
    "getRejectionVersionsV1",
    "countRejectionsV1",
    "subscribe",
    Operation.SUGGESTED_GAS_FEES.value,
    Operation.BASE_FEE_HISTORY.value,
    Operation.BASE_FEE_PERCENTILE.value,
    Operation.BUSY_THRESHOLD.value,
)
"""Every method that a key can be limited to."""

FREE: Final = frozenset({"rpc.discover", "unsubscribe"})
"""Methods that every key may call."""


def method_mistake(methods: Collection[str] | None, *, may_report: bool) -> str | None:
    """Return why a key cannot be limited to these methods, None where it can.

    The text continues the name of the setting or option that holds the methods.
    """
    if methods is None:
        return None
    if not methods:
        return "is empty, so the key could call nothing: name a method, or leave it out for all"
    for each in methods:
        if each not in METHODS:
            known = ", ".join(METHODS)
            return f"holds {shorten(each)}, which is no method: choose from {known}"
    if may_report and SAVE_REJECTED not in methods:
        return f"leaves out {SAVE_REJECTED}, yet the key may report: add it, or forbid reporting"
    if not may_report and SAVE_REJECTED in methods:
        return f"holds {SAVE_REJECTED}, yet the key may not report: allow it, or leave that out"
    return None
