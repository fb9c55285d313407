"""A rejection for programs: the record as the API answers it, and what we make of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.reason_explanation import explain, overrun
from dashboard.domain.reason_parser import Reason
from dashboard.wire.exclusion import encode_record
from dashboard.wire.timestamp import format_timestamp


def instant(at: datetime | None) -> str | None:
    """Write a moment for programs, as both APIs do."""
    return None if at is None else format_timestamp(at)


def rejection_form(stored: StoredRejection, reason: Reason) -> dict[str, Any]:
    """Write a rejection for programs: the record as the API answers it, and what we make of it."""
    record: dict[str, Any] = msgspec.json.decode(encode_record(stored.record))
    return record | {
        "firstSeenAt": instant(stored.first_seen_at),
        "lastSeenAt": instant(stored.last_seen_at),
        "reportedAt": instant(stored.reported_at),
        "source": str(stored.source),
        "overflows": [
            {"module": each.module, "count": each.count, "limit": each.limit}
            for each in stored.overflows
        ],
        "reason": {
            "kind": str(reason.kind),
            "module": reason.module,
            "count": reason.count,
            "limit": reason.limit,
            "limitFrom": reason.limit_from,
            "overrun": overrun(reason),
            "inWords": explain(reason),
        },
    }
