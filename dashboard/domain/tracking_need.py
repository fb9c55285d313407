"""Which tracked transactions need attention: rejected, silent, or soon asked about no more."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.exclusion import QUERYABLE_WINDOW, REPORTING_DELAY

WATCHED_FOR: Final = QUERYABLE_WINDOW + REPORTING_DELAY
"""How long after its attempt, or after it was tracked, a transaction is asked about."""

SILENT_AFTER: Final = timedelta(minutes=10)
ENDS_WITHIN: Final = timedelta(hours=24)


class Need(StrEnum):
    """Why a transaction needs attention; the most urgent first.

    All are still asked about, and neither included nor replaced as far as nodes say. REJECTED: a
    rejection is on record. SILENT: for ten minutes no question about it was answered. ENDING: it
    has no record, and is asked about for less than a day more.
    """

    REJECTED = "Rejected"
    SILENT = "Silent"
    ENDING = "Ending soon"
