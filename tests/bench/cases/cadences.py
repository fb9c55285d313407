"""Cadences: how late rejections are seen for how many calls, beside the bound and fixed intervals.

Nothing is drawn by chance: records lie evenly on the ranks of each law of delays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import pairwise
from math import ceil, inf, log
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dashboard.domain.tracking.cadence import (
    FOLLOW_UP_CADENCE,
    USUAL_DELAYS,
    CadencePolicy,
    DelayPart,
    check_ages,
    next_check,
)
from tests.bench.frontier import CHART, Curve, drawn
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number

Law: TypeAlias = tuple[DelayPart, ...]
Floats: TypeAlias = NDArray[np.float64]

_DECADES: Final = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 604_800.0)
POWER_LAW: Final = tuple(
    DelayPart((since**-0.5 - until**-0.5) / (1.0 - _DECADES[-1] ** -0.5), since, until, 1.5)
    for since, until in pairwise(_DECADES)
)
RETRIED: Final = (
    DelayPart(0.60, 1.0, 4.0, 0.0),
    DelayPart(0.25, 4.0, 120.0),
    DelayPart(0.13, 120.0, 7_200.0),
    DelayPart(0.02, 7_200.0, 604_800.0),
)
LAWS: Final = {"most at once": USUAL_DELAYS, "power law": POWER_LAW, "retried": RETRIED}
PROMISED: Final = ("most at once", "power law")
SETTINGS: Final = (55, 110, 220, 440)

NEVER: Final = 0.05
INCLUDED: Final = DelayPart(1.0 - NEVER, 2.0, 60.0, 0.0)
"""When transactions without a record come into blocks, assumed: the others never do."""

_TICK: Final = 1.0
"""Seconds: the worker gathers what is due once in so many."""

_RANKS: Final = 20_000
_INCLUSIONS: Final = 200


@cache
def records(law: Law) -> tuple[Floats, Floats]:
    """Return ages at which records appear, and the share of all that each stands for."""
    ranks = (np.arange(_RANKS) + 0.5) / _RANKS
    ages = [np.array([part.age_of(rank) for rank in ranks]) for part in law]
    shares = [np.full(_RANKS, part.share / _RANKS) for part in law]
    return np.concatenate(ages), np.concatenate(shares)


def bound(law: Law) -> float:
    """Return the least calls x mean delay of any schedule: (∫√f)²/2, with f the law's density."""
    roots = sum(
        (part.share / _integral(part.power, part)) ** 0.5 * _integral(part.power / 2, part)
        for part in law
    )
    return float(roots**2 / 2)


def _integral(power: float, part: DelayPart) -> float:
    """Integrate age^-power over the ages of a part."""
    if power == 1.0:
        return log(part.until / part.since)
    rest = 1.0 - power
    return float((part.until**rest - part.since**rest) / rest)


class Seen(NamedTuple):
    """Calls about a transaction without a record; how late records are seen, in seconds."""

    calls: float
    mean: float
    p99: float


@cache
def schedule(policy: CadencePolicy, included: float = inf) -> Sequence[float]:
    """Return when the worker asks: what `next_check` says, at the next tick.

    `included` is the age at which the worker sees that it is in a block.
    """
    ages = [0.0]
    while True:
        age, is_included = timedelta(seconds=ages[-1]), ages[-1] >= included
        wait = next_check(age, policy, is_included=is_included)
        if wait is None:
            return ages
        ages.append(ceil((ages[-1] + wait.total_seconds()) / _TICK) * _TICK)


def calls_to_inclusion(policy: CadencePolicy, interval: float) -> tuple[float, float]:
    """Return calls about a transaction without a record: ours, and at an interval.

    The interval stops at the very inclusion. Ours sees that with the next receipt, and asks a few
    times more until the window ends.
    """
    ours = interval_calls = 0.0
    receipts = check_ages(FOLLOW_UP_CADENCE)
    ages = [INCLUDED.age_of((rank + 0.5) / _INCLUSIONS) for rank in range(_INCLUSIONS)]
    for age in ages:
        seen_at = receipts[bisect_left(receipts, timedelta(seconds=age))]
        ours += len(schedule(policy, seen_at.total_seconds())) / _INCLUSIONS
        interval_calls += ceil(age / interval) / _INCLUSIONS
    whole = policy.last_age.total_seconds() / interval
    return (
        INCLUDED.share * ours + NEVER * len(schedule(policy)),
        INCLUDED.share * interval_calls + NEVER * whole,
    )


def seen(policy: CadencePolicy, law: Law) -> Seen:
    """Ask as the policy says."""
    asked = np.array(schedule(policy))
    return _seen(len(asked), law, lambda ages: asked[np.searchsorted(asked, ages)])


def seen_at_interval(interval: float, law: Law, policy: CadencePolicy) -> Seen:
    """Ask when the transaction is sent, and again after each interval, for as long."""
    calls = policy.last_age.total_seconds() / interval
    return _seen(calls, law, lambda ages: np.ceil(ages / interval) * interval)


def _seen(calls: float, law: Law, next_call: Callable[[Floats], Floats]) -> Seen:
    ages, shares = records(law)
    late = next_call(ages) - ages
    order = np.argsort(late)
    p99 = late[order][np.searchsorted(np.cumsum(shares[order]), 0.99)]
    return Seen(calls, float(np.sum(late * shares)), float(p99))


def as_late(mean: float, law: Law, policy: CadencePolicy) -> float:
    """Return the fixed interval that sees records as late on average."""
    shortest, longest = 0.01, 40 * mean
    for _ in range(50):
        middle = (shortest + longest) / 2
        if seen_at_interval(middle, law, policy).mean < mean:
            shortest = middle
        else:
            longest = middle
    return shortest


@dataclass(frozen=True, slots=True)
class Compared:
    """One setting under one law: `of_bound` is calls x delay over the least possible.

    `fewer` is how many times more calls a fixed interval takes for the same mean delay,
    `fewer_anywhere` where the first question of the fixed interval falls anywhere within it, and
    `fewer_to_inclusion` where both take inclusion into account, after `calls_to_inclusion` of ours.
    """

    law: str
    setting: int
    ours: Seen
    of_bound: float
    fewer: float
    fewer_anywhere: float
    calls_to_inclusion: float
    fewer_to_inclusion: float


def compared(name: str, setting: int) -> Compared:
    """Compare one setting of the knob."""
    law, policy = LAWS[name], CadencePolicy(setting)
    ours = seen(policy, law)
    interval = as_late(ours.mean, law, policy)
    whole = policy.last_age.total_seconds()
    to_inclusion, fixed_to_inclusion = calls_to_inclusion(policy, interval)
    return Compared(
        name,
        setting,
        ours,
        ours.calls * ours.mean / bound(law),
        whole / interval / ours.calls,
        whole / (2 * ours.mean) / ours.calls,
        to_inclusion,
        fixed_to_inclusion / to_inclusion,
    )


def frontier() -> str:
    """Draw mean delay over calls: ours, the bound, and fixed intervals."""
    law, policy = USUAL_DELAYS, CadencePolicy()
    settings = [round(10 * 1.25**step) for step in range(25)]
    ours = [seen(CadencePolicy(each), law) for each in settings]
    fixed = [seen_at_interval(each, law, policy) for each in (10, 20, 60, 300, 900, 3600, 14_400)]
    possible = [(each, bound(law) / each) for each in settings]
    return drawn(
        Curve("fixed interval", "#b3541e", [(each.calls, each.mean) for each in fixed]),
        Curve("Linewatch", "#1f6feb", [(each.calls, each.mean) for each in ours]),
        Curve("the least possible", "#6e7781", possible, is_below=True),
        chosen=(seen(policy, law).calls, seen(policy, law).mean),
    )


def run(scene: Scene) -> Result:
    """Compare settings under each law, and draw the frontier for the docs."""
    del scene
    CHART.write_text(frontier(), encoding="utf-8")
    found = [compared(name, setting) for name in LAWS for setting in SETTINGS]
    usual = [each for each in found if each.setting == CadencePolicy().calls]
    return Result(
        title="S4: calls about a transaction, and how late its rejection is seen",
        promises=[each for setting in SETTINGS for each in _promises(setting, found)],
        heads=(
            *("law of delays", "calls", "mean delay", "p99", "× bound"),
            *("× fewer than fixed", "begun at any moment"),
            *("calls with inclusion", "× fewer than fixed with it"),
        ),
        lines=[_line(each) for each in found],
        remarks=_remarks(usual),
    )


def _promises(setting: int, found: Sequence[Compared]) -> list[Promise]:
    """Judge one setting of the knob by the worse of the laws that are promised."""
    own = [each for each in found if each.setting == setting and each.law in PROMISED]
    worst = max(each.of_bound for each in own)
    fewer = min(each.fewer for each in own)
    to_inclusion = min(each.fewer_to_inclusion for each in own)
    about = f"{setting} calls{', as delivered' if setting == CadencePolicy().calls else ''}"
    return [
        Promise("S4", f"{about}: × the bound", 1.2, worst, "×", is_floor=False),
        Promise("S4", f"{about}: fewer than at a fixed interval", 85, fewer, "×"),
        Promise("S4", f"{about}: the same, with inclusion", 50, to_inclusion, "×"),
    ]


def _line(each: Compared) -> list[str]:
    ours = each.ours
    times = (ours.mean, ours.p99)
    ratios = (each.of_bound, each.fewer, each.fewer_anywhere)
    inclusion = (each.calls_to_inclusion, each.fewer_to_inclusion)
    return [
        each.law,
        f"{ours.calls:,.0f}",
        *(f"{number(time)} s" for time in times),
        *map(number, ratios + inclusion),
    ]


def _remarks(usual: Sequence[Compared]) -> list[str]:
    anywhere = min(each.fewer_anywhere for each in usual if each.law in PROMISED)
    other = next(each for each in usual if each.law not in PROMISED)
    simulated = (
        "Simulated with the policy of the worker, in ticks of a second; every question is answered "
        "at once."
    )
    laws = (
        "*The bound* is the least possible product of calls and mean delay. Delays: most records "
        "within seconds and one in a hundred days later; a pure power law; and retried reports "
        f"({number(other.of_bound)} × the bound)."
    )
    fixed = (
        "The fixed interval is as late, and begins when the transaction is sent; if it begins at a "
        f"random moment, Linewatch makes {number(anywhere)} × fewer calls."
    )
    inclusion = (
        f"Inclusion: {INCLUDED.share:.0%} of the transactions without a record are in a block "
        f"{INCLUDED.since:.0f} s to {INCLUDED.until:.0f} s after they are sent, the others never. "
        "There the fixed interval stops; Linewatch notices it with the next receipt or block, and "
        "asks four more times in seven days."
    )
    return [simulated, laws, fixed, inclusion]
