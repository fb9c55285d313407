"""What asking about transactions takes a day, how late rejections are seen, and other settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.formatting import counted
from dashboard.domain.tracking.cadence import (
    SELDOM,
    CadencePolicy,
    ExpectedDelay,
    calls_between,
    expected_delay,
)
from dashboard.store.tracking.search import AgeGroup

WINDOW: Final = CadencePolicy().last_age
"""How long a transaction is asked about."""

_DAY: Final = timedelta(days=1)
_OTHERS: Final = (0.5, 1, 2, 4)
"""Settings that are shown, as multiples of the one in force."""

_FEWEST, _MOST = 10, 10_000


@dataclass(frozen=True, slots=True)
class PlannedPolling:
    """One setting on one network, for the load of the last week.

    `tracked` is how many transactions are young enough to be asked about; `calls_a_day` is what
    the setting gives for them, while everything answers: in the last day or in the next one,
    whichever takes more. `credits_of_fees` come on top.
    """

    network: str
    calls: int
    is_in_force: bool
    tracked: int
    calls_a_day: int
    credits_a_day: int
    credits_of_fees: int
    delay: ExpectedDelay


def planned_polling(
    profile: NetworkProfile, load: Sequence[AgeGroup], now: datetime
) -> list[PlannedPolling]:
    """Plan a network at its setting and at others; at its own alone where calls cost nothing."""
    ours = [each for each in load if each.network_id == profile.network_id]
    in_force = profile.cadence.calls
    wanted = {min(max(_FEWEST, round(in_force * each)), _MOST) for each in _OTHERS}
    settings = sorted(wanted) if profile.question_credits else [in_force]
    return [_planned(profile, each, ours, now) for each in settings]


def _planned(
    profile: NetworkProfile, calls: int, load: Sequence[AgeGroup], now: datetime
) -> PlannedPolling:
    policy = replace(profile.cadence, calls=calls)
    of_day = max(
        sum(each.many * _calls(profile, policy, each, now - start) for each in load)
        for start in (timedelta(), _DAY)
    )
    return PlannedPolling(
        profile.name,
        calls,
        calls == profile.cadence.calls,
        sum(each.many for each in load),
        of_day,
        of_day * profile.question_credits,
        profile.planned_credits,
        expected_delay(policy),
    )


def _calls(profile: NetworkProfile, policy: CadencePolicy, load: AgeGroup, since: datetime) -> int:
    """Return the questions about one transaction in the day from `since`.

    After line limits ended, what is first seen is asked about seldom or never.
    """
    ended_at = profile.line_limits.ended_at(since + _DAY)
    if ended_at is not None and load.born_at >= ended_at:
        if not profile.line_limits.is_asked_after:
            return 0
        policy = SELDOM
    age = since - load.born_at
    included = None if load.included_after is None else _rounded(load.included_after)
    return calls_between(
        age, age + _DAY, policy, is_rejected=load.is_rejected, included_after=included
    )


def _rounded(age: timedelta) -> timedelta:
    """Return the next power of two of seconds, so that few schedules are computed."""
    return timedelta(seconds=1 << int(age.total_seconds()).bit_length())


def _seconds(length: timedelta) -> str:
    """Say a delay with two digits that matter."""
    seconds = length.total_seconds()
    if seconds < 10:  # noqa: PLR2004 - below, a tenth matters
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 - ten minutes


PLAN: Final[Listing[PlannedPolling]] = Listing(
    "plan",
    (
        Column("network", lambda each: each.network, "network"),
        Column("calls per transaction", lambda each: each.calls, "callsPerTransaction"),
        Column(
            "in force",
            lambda each: "yes" if each.is_in_force else "",
            "isInForce",
            lambda each: each.is_in_force,
        ),
        Column("tracked", lambda each: each.tracked, "tracked"),
        Column("calls a day", lambda each: each.calls_a_day, "callsPerDay"),
        Column("credits a day", lambda each: each.credits_a_day, "creditsPerDay"),
        Column("credits for fees", lambda each: each.credits_of_fees, "feeCreditsPerDay"),
        Column(
            "mean delay",
            lambda each: _seconds(each.delay.mean),
            "meanDelaySeconds",
            lambda each: round(each.delay.mean.total_seconds(), 1),
        ),
        Column(
            "p99 delay",
            lambda each: _seconds(each.delay.p99),
            "p99DelaySeconds",
            lambda each: round(each.delay.p99.total_seconds(), 1),
        ),
    ),
    "No network has an exclusion endpoint.",
)


def plan_in_words(plan: Sequence[PlannedPolling]) -> Iterator[str]:
    """Say what the figures rest on."""
    in_force = [each for each in plan if each.is_in_force]
    calls = sum(each.calls_a_day for each in in_force)
    credits_ = sum(each.credits_a_day + each.credits_of_fees for each in in_force)
    load = (
        f"At the load of the last week, Linewatch makes {counted(calls, 'call')} a day for "
        f"transactions, and everything with fees costs {counted(credits_, 'credit')} a day."
    )
    choice = "Another value of poll.calls_per_transaction changes calls and delays as listed."
    yield load if len(in_force) == len(plan) else f"{load} {choice}"
    yield (
        "Delays are expected ones, from when the API has a rejection to when it is seen, if 70 % "
        "are there within 5 s of the attempt, 90 % within 1 min and 99 % within 1 h."
    )
