"""The conditions of one network, as tests of polling conclude them."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from dashboard.detect.holding import ConditionRules
from dashboard.poll.conditions import Conditions
from tests.builders import A_NETWORK, seconds
from tests.timepiece import Timepiece


def conditions_of(timepiece: Timepiece, rules: ConditionRules | None = None) -> Conditions:
    """Return what concludes on `A_NETWORK` for a worker that starts now, with usual periods."""
    return Conditions(
        A_NETWORK,
        seconds(4),
        timedelta(minutes=1),
        rules or ConditionRules(),
        timepiece.now(),
        uuid4,
    )
