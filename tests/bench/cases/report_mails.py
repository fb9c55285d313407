"""S16: how soon a report to our own serve is a mail that its server took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import httpx

from tests.bench.alerting import RECIPIENTS, Site, alerting, in_seconds, paced, waits
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import RPC, Scene
from tests.bench.signed_reports import Reporter, SentReport
from tests.bench.table import Promise, Result

PACE: Final = 5
"""Reports per second: none waits for another."""
LONGEST: Final = 3.0


def run(scene: Scene) -> Result:
    """Report transactions of many senders, each of which opens an incident of its own."""
    seconds = 4 * scene.seconds * scene.rounds
    # A node of its own for each: every report is of another sender.
    reports = [next(Reporter().take(1)) for _ in range(max(3, round(PACE * seconds)))]
    with alerting(LINEWATCH_ALERTS_LARGEST_HOURLY="1000000") as site, ExitStack() as stack:
        site.edit_rule("group_by=sender")
        site.track(each.tx_hash for each in reports)
        for role in ("serve", "worker"):
            site.start(role, stack)
        site.wait_for_worker()
        reported_at = _report(site, reports)
        site.wait_until_named(list(reported_at))
    taken = [
        site.post.named_at[to, each] - at for each, at in reported_at.items() for to in RECIPIENTS
    ]
    shown = waits(taken)
    return Result(
        title="S16: a report to our own serve becomes a mail",
        promises=[Promise("S16", "p99 report → mail", LONGEST, shown[1], "s", is_floor=False)],
        heads=("reports", "mails", "p50", "p99", "longest"),
        lines=[[f"{len(reports):,}", f"{len(taken):,}", *map(in_seconds, shown)]],
        remarks=[_HOW],
    )


_HOW: Final = (
    f"{PACE} reports a second to two recipients, each in its own group, with the cap raised. From "
    "the request until the mail server has the whole mail."
)


def _report(site: Site, reports: Sequence[SentReport]) -> dict[str, float]:
    """Hand reports in at `PACE`; return when each was, by its hash."""
    reported_at: dict[str, float] = {}
    with httpx.Client(base_url=site.installation.serve, timeout=30) as client:
        for each in paced(reports, PACE):
            reported_at[str(each.tx_hash)] = time.perf_counter()
            answer = client.post(RPC, content=each.save).content
            if answer != each.saved:
                msg = f"told {answer!r} where {each.saved!r} is true"
                raise WrongAnswerError(msg)
    return reported_at
