"""What a trial of an endpoint found, question by question."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class TrialOutcome(StrEnum):
    """The result of a question; ABSENT: an optional feature that the endpoint does not offer."""

    GOOD = "ok"
    ABSENT = "absent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One question to one endpoint, its result in words, and how long that took."""

    endpoint: str
    question: str
    outcome: TrialOutcome
    found: str
    took: timedelta
