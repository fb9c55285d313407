"""Fee stories for tests: one value each ten seconds, unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from dashboard.domain.fees import nearest_rank
from dashboard.domain.quantity import Wei
from dashboard.show.fee_steps import FeeStory
from dashboard.store.fee_series import FeeStep
from tests.builders import A_MOMENT, seconds

STEP: Final = timedelta(seconds=10)


def a_step(number: int, *fees: int, lasts: timedelta = timedelta(0), estimated: int = 0) -> FeeStep:
    """Return the step that begins ten seconds after the one before, and saw these fees."""
    first = A_MOMENT + number * STEP
    mean = sum(fees) / len(fees)
    lowest, highest = Wei(min(fees)), Wei(max(fees))
    median, p90 = (nearest_rank(sorted(map(Wei, fees)), percent) for percent in (50, 90))
    last = first + lasts
    return FeeStep(
        first, last, lowest, highest, mean, len(fees), estimated, median, p90, timedelta(0)
    )


def a_story(*fees: int | None, **changes: Any) -> FeeStory:  # noqa: ANN401 - any field
    """Return a story of one fee each step, None where nothing was seen, busy above ten."""
    steps: Sequence[FeeStep] = [
        a_step(number, each) for number, each in enumerate(fees) if each is not None
    ]
    fields: dict[str, Any] = {
        "steps": steps,
        "usual": [Wei(5)] * len(steps),
        "threshold": [Wei(10)] * len(steps),
        "longest_step": seconds(15),
        "until": A_MOMENT + len(fees) * STEP,
    }
    return FeeStory(**(fields | changes))
