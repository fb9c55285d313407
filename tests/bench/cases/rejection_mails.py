"""S17: how soon a rejection that a hosted API shows is a mail, and what a storm of them does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dashboard.domain.rejections.exclusion import RejectedTransaction
from tests.bench.alerting import (
    LONGEST_WAIT,
    RECIPIENTS,
    Site,
    TimedUpstream,
    alerting,
    in_seconds,
    paced,
    waits,
)
from tests.bench.processes import settle
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result
from tests.builders import a_hash, a_record, an_address
from tests.faults.hosted_apis import hosted_apis
from tests.waiting import eventually

PACE: Final = 5
"""Rejections per second while single ones are measured."""
MEGABYTE: Final = 1_000_000
_MODULES: Final = ("HUB", "EXP", "MMU", "ADD")


def run(scene: Scene) -> Result:
    """Measure single rejections, then a storm of one for each hundred that the archive holds."""
    length = scene.seconds * scene.rounds
    detected, single = _one_by_one(max(3, round(PACE * 4 * length)))
    storm = _storm(scene.stored // 100, 6 * length, 3 * length)
    about = f"{storm.many:,} rejections in {6 * length:g} s"
    late = waits(single)
    return Result(
        title="S17: rejections at a hosted API become mails",
        promises=[
            Promise("S17", "p99 first answer → mail", 3, late[1], "s", is_floor=False),
            Promise("S17", f"{about}: first mail", 30, min(storm.delays), "s", is_floor=False),
            Promise("S17", f"{about}: mailed or pending, for everybody", storm.many, storm.owed),
            Promise("S17", f"{about}: mails to one", 12, storm.mails, is_floor=False),
            Promise("S17", f"{about}: worker grew by", 50, storm.grown, "MB", is_floor=False),
        ],
        heads=("", "p50", "p99", "longest"),
        lines=[
            ["rejection → first answer about it", *map(in_seconds, waits(detected))],
            ["first answer → mail, one by one", *map(in_seconds, late)],
            ["first answer → mail, in the storm", *map(in_seconds, waits(storm.delays))],
        ],
        remarks=[_HOW, storm.memory],
    )


_HOW: Final = (
    f"One by one: {PACE} rejections a second, each in its own group, with the cap raised. The "
    "storm: the default settings; what the hourly cap holds back stays pending."
)


@dataclass(frozen=True, slots=True)
class _Storm:
    """What a storm did; delays are seconds from the first answer to the mail, of each recipient.

    `owed`: how many rejections every recipient was told of, or is to be told of by what is pending.
    """

    many: int
    owed: int
    mails: int
    delays: Sequence[float]
    grown: float
    memory: str


def _one_by_one(many: int) -> tuple[list[float], list[float]]:
    """Reject at `PACE`; return the seconds to the first answer, and from there to the mails."""
    with _asking(many, LINEWATCH_ALERTS_LARGEST_HOURLY="1000000") as (site, upstream):
        site.edit_rule("group_by=sender")
        rejected_at = _reject(upstream, many, PACE)
        site.wait_until_named(list(rejected_at))
    told = upstream.told_at
    return [told[each] - at for each, at in rejected_at.items()], _delays(site, upstream)


def _storm(many: int, length: float, group_wait: float) -> _Storm:
    """Reject so many within `length` seconds; see the worker's memory before, at most and after."""
    with _asking(many) as (site, upstream):
        site.edit_rule(f"group_wait={round(1_000 * group_wait)}ms")
        worker = site.roles["worker"]
        settle(worker)
        before = worker.memory().resident
        worker.forget_peak()
        _reject(upstream, many, many / length)
        eventually(lambda: site.owed() >= many, "a notification of each", within=LONGEST_WAIT)
        eventually(site.post.has_first_mails, "a first mail to each")
        after, owed = worker.memory(), site.owed()
    sizes = [f"{each / MEGABYTE:.0f} MB" for each in (before, after.peak, after.resident)]
    return _Storm(
        many,
        owed,
        max(site.post.count.values()),
        _delays(site, upstream),
        (after.peak - before) / MEGABYTE,
        "The worker had {} before the storm, {} at most and {} after it.".format(*sizes),
    )


@contextmanager
def _asking(many: int, **settings: str) -> Iterator[tuple[Site, TimedUpstream]]:
    """Run a worker that has asked once about so many tracked transactions."""
    with ExitStack() as stack:
        upstream = TimedUpstream()
        stack.enter_context(hosted_apis(upstream))
        site = stack.enter_context(alerting(f"http://127.0.0.1:{upstream.port}", **settings))
        site.track(a_hash(each) for each in range(1, many + 1))
        site.start("worker", stack)
        site.wait_for_worker()
        eventually(lambda: upstream.questions >= many, what="a first question about each")
        yield site, upstream


def _reject(upstream: TimedUpstream, many: int, per_second: float) -> dict[str, float]:
    """Let the upstream show one rejection after the other; return since when, by hash."""
    rejected_at = {}
    for each in paced(range(1, many + 1), per_second):
        rejected_at[str(a_hash(each))] = time.perf_counter()
        upstream.reject(_record(each))
    return rejected_at


def _record(number: int) -> RejectedTransaction:
    now = datetime.now(UTC)
    line_count = f"module {_MODULES[number % len(_MODULES)]}={number + 9}"
    return a_record(
        tx_hash=a_hash(number),
        sender=an_address(number),
        nonce=number,
        reason_message=f"Transaction line count for {line_count} is above the limit 8",
        timestamp=now.replace(microsecond=now.microsecond // 1_000 * 1_000),
    )


def _delays(site: Site, upstream: TimedUpstream) -> list[float]:
    """Return the seconds from the first answer about a rejection to each of its mails."""
    return [
        site.post.named_at[to, each] - told
        for each, told in upstream.told_at.items()
        for to in RECIPIENTS
        if (to, each) in site.post.named_at
    ]
