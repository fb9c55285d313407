"""Fee timelines for tests: one value each ten seconds, unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import numpy as np

from dashboard.application.fee_timeline import FeeTimeline
from dashboard.domain.fees.busy_spells import BusyTime, Spell
from dashboard.domain.fees.percentiles import nearest_rank
from dashboard.domain.health.coverage import WatchedTime
from dashboard.domain.quantity import Wei
from dashboard.store.fees.series import FeeStep, FeeSteps
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import A_MOMENT, seconds

STEP: Final = timedelta(seconds=10)
_THRESHOLD: Final = 10


def a_step(
    number: float,
    *fees: int,
    lasts: timedelta = timedelta(0),
    **changes: Any,  # noqa: ANN401 - any field
) -> FeeStep:
    """Return the step that begins ten seconds after the one before, and saw these fees."""
    first = A_MOMENT + number * STEP
    ascending = sorted(map(Wei, fees))
    step = FeeStep(
        first_at=first,
        last_at=first + lasts,
        lowest=ascending[0],
        highest=ascending[-1],
        mean=sum(fees) / len(fees),
        values=len(fees),
        estimated=0,
        median=nearest_rank(ascending, 50),
        p90=nearest_rank(ascending, 90),
        longest_gap=timedelta(0),
    )
    return step._replace(**changes)


def a_timeline(*fees: int | None, **changes: Any) -> FeeTimeline:  # noqa: ANN401 - any field
    """Return a timeline of one fee each step, None where nothing was seen, busy above ten.

    All of it was watched.
    """
    seen = [a_step(number, each) for number, each in enumerate(fees) if each is not None]
    steps = in_columns(changes.pop("steps", seen))
    fields: dict[str, Any] = {
        "steps": steps,
        "usual": np.full(len(steps), 5),
        "threshold": np.full(len(steps), 10),
        "longest_pause_between": seconds(15),
        "longest_pause_within": seconds(15),
        "since": A_MOMENT,
        "until": A_MOMENT + (len(fees) or len(steps)) * STEP,
    }
    fields |= changes
    watched = WatchedTime(fields["since"], fields["until"])
    spells = tuple(
        Spell(each.first_at, each.first_at + STEP) for each in steps if each.lowest > _THRESHOLD
    )
    return FeeTimeline(**({"busy": BusyTime(spells, watched)} | fields))


def busy(*spells: tuple[float, float], watched: tuple[float, float] = (0, 1000)) -> BusyTime:
    """Return spells from one step to another, and what was watched."""
    since, until = (A_MOMENT + each * STEP for each in watched)
    found = (Spell(A_MOMENT + begin * STEP, A_MOMENT + end * STEP) for begin, end in spells)
    return BusyTime(tuple(found), WatchedTime.of(A_MOMENT, until, [(A_MOMENT, since)]))


def in_columns(steps: Sequence[FeeStep]) -> FeeSteps:
    """Return the same steps in columns."""
    return FeeSteps(
        np.array([milliseconds_of(step.first_at) for step in steps]),
        np.array([milliseconds_of(step.last_at) for step in steps]),
        np.array([step.lowest for step in steps]),
        np.array([step.highest for step in steps]),
        np.array([step.mean for step in steps]),
        np.array([step.values for step in steps]),
        np.array([step.estimated for step in steps]),
        np.array([step.median for step in steps]),
        np.array([step.p90 for step in steps]),
        np.array([step.longest_gap // timedelta(milliseconds=1) for step in steps]),
    )
