"""Cadences: how late rejections are seen for how many calls, beside the bound and fixed intervals.

Nothing is drawn by chance: records lie evenly on the ranks of each law of delays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import pairwise
from math import ceil, log
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dashboard.domain.tracking.cadence import (
    USUAL_DELAYS,
    CadencePolicy,
    DelayPart,
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

_TICK: Final = 1.0
"""Seconds: the worker gathers what is due once in so many."""

_RANKS: Final = 20_000


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
def schedule(policy: CadencePolicy) -> Sequence[float]:
    """Return when the worker asks: what `next_check` says, at the next tick."""
    ages = [0.0]
    while (wait := next_check(timedelta(seconds=ages[-1]), policy)) is not None:
        ages.append(ceil((ages[-1] + wait.total_seconds()) / _TICK) * _TICK)
    return ages


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
    `fewer_anywhere` where the first
    question of the fixed interval falls anywhere within it.
    """

    law: str
    setting: int
    ours: Seen
    of_bound: float
    fewer: float
    fewer_anywhere: float


def compared(name: str, setting: int) -> Compared:
    """Compare one setting of the knob."""
    law, policy = LAWS[name], CadencePolicy(setting)
    ours = seen(policy, law)
    interval = as_late(ours.mean, law, policy)
    whole = policy.last_age.total_seconds()
    return Compared(
        name,
        setting,
        ours,
        ours.calls * ours.mean / bound(law),
        whole / interval / ours.calls,
        whole / (2 * ours.mean) / ours.calls,
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
        promises=_promises([each for each in usual if each.law in PROMISED]),
        heads=(
            *("law of delays", "calls", "mean delay", "p99", "× bound"),
            *("× fewer than fixed", "begun at any moment"),
        ),
        lines=[_line(each) for each in found],
        remarks=_remarks(found, usual),
    )


def _promises(usual: Sequence[Compared]) -> list[Promise]:
    worst = max(each.of_bound for each in usual)
    fewer = min(each.fewer for each in usual)
    return [
        Promise("S4", "calls × mean delay: × the bound", 1.2, worst, "×", is_floor=False),
        Promise("S4", "fewer calls than a fixed interval, as late", 85, fewer, "×"),
    ]


def _line(each: Compared) -> list[str]:
    ours = each.ours
    times = (ours.mean, ours.p99)
    ratios = (each.of_bound, each.fewer, each.fewer_anywhere)
    return [
        each.law,
        f"{ours.calls:,.0f}",
        *(f"{number(time)} s" for time in times),
        *map(number, ratios),
    ]


def _remarks(found: Sequence[Compared], usual: Sequence[Compared]) -> list[str]:
    few = max(each.of_bound for each in found if each.setting == SETTINGS[0])
    anywhere = min(each.fewer_anywhere for each in usual if each.law in PROMISED)
    other = next(each for each in usual if each.law not in PROMISED)
    simulated = (
        "Simulated with the policy that the worker follows, in ticks of a second, with every "
        f"question answered at once. With {SETTINGS[0]} calls it is {number(few)} × the bound."
    )
    laws = (
        "Laws of delays: most records within seconds and one in a hundred days later; a pure power "
        f"law; and retried reports, where it is {number(other.of_bound)} × the bound."
    )
    fixed = (
        "The fixed interval begins when the transaction is sent; where it begins at any moment, "
        f"we take {number(anywhere)} × fewer calls."
    )
    return [simulated, laws, fixed]
