"""Steps that are longer than roll-ups: those of each put together, for all steps at once.

Measured on SQLite: one roll-up after the other, 90 days in steps of three hours took 45 ms of CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import truediv
from typing import Final

import numpy as np

from dashboard.store.driver import Row
from dashboard.store.fee_columns import FeeSteps
from dashboard.store.fee_rollup_arrays import Histograms

_TOTAL: Final = 4
"""The place of the sum among the columns of a summary."""


def merge_steps(parts: Sequence[Row], length: int) -> FeeSteps:
    """Put together what lies in one step of so many milliseconds.

    A part is the summary of a roll-up and, as its last column, its histogram. Parts come in order
    of time, and none reaches over the end of a step. It is as if the values of each step had been
    rolled up at once.
    """
    fine = FeeSteps.of(part[:-1] for part in parts)
    if not parts:
        return fine
    steps = fine.first_at // length
    starts = np.flatnonzero(np.diff(steps, prepend=steps[0] - 1))
    ends = np.append(starts[1:], len(parts))
    lowest = np.minimum.reduceat(fine.lowest, starts)
    highest = np.maximum.reduceat(fine.highest, starts)
    step_of = np.repeat(np.arange(len(starts)), ends - starts)
    counted = Histograms.decode([part[-1] for part in parts]).owned_by(step_of).added_up()
    medians, p90s = (
        np.clip(counted.quantile(each, len(starts)), lowest, highest) for each in (50, 90)
    )
    values = np.add.reduceat(fine.values, starts)
    totals = [int.from_bytes(part[_TOTAL]) for part in parts]
    sums = (sum(totals[start:end]) for start, end in pairwise([*starts.tolist(), len(parts)]))
    return FeeSteps(
        first_at=fine.first_at[starts],
        last_at=fine.last_at[ends - 1],
        lowest=lowest,
        highest=highest,
        means=np.fromiter(map(truediv, sums, values.tolist()), float),
        values=values,
        estimated=np.add.reduceat(fine.estimated, starts),
        medians=medians,
        p90s=p90s,
        longest_gaps=np.maximum.reduceat(fine.longest_gaps, starts),
    )
