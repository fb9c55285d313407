"""Storms, outages, silences and restarts: everybody hears of everything once, in few messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Final

from dashboard.errors import DeliveryError
from tests.faults.rows import Chance, Play, Row
from tests.faults.watched_alerts import DOWN, watched_alerts

_STORM: Final = 10_000
_SHORT_STORM: Final = 600
_STEPS: Final = 30
_PAUSES: Final = tuple(map(timedelta, (0, 0, 0, 0), (0, 1, 31, 400)))
_SECOND: Final = timedelta(seconds=1)
_FEW_DIGESTS: Final = 60
"""Messages to both recipients together after an outage, however much waited."""

_NOT_NOW: Final = DeliveryError("450 4.2.0 try again later")
_FAILURES: Final = ((DOWN,), (_NOT_NOW,), (DOWN, _NOT_NOW))
"""How a server fails for hours: it does not answer, takes nothing for now, or both in turn."""


@contextmanager
def _storms(folder: Path) -> Iterator[Play]:
    numbers = count()

    def play(chance: Chance) -> None:
        with watched_alerts(folder / f"{next(numbers)}") as alerts:
            many = _STORM if chance.number else _SHORT_STORM
            began_at = alerts.clock.now()
            for second in range(60):
                begin = second * many // 60 + 1
                alerts.reject(range(begin, (second + 1) * many // 60 + 1))
                alerts.work(_SECOND)
                if chance.random() < 0.02:
                    alerts.restart()
            alerts.work(timedelta(minutes=10))
            hour = alerts.clock.now() + timedelta(minutes=49)
            while alerts.clock.now() < hour:
                alerts.work(timedelta(minutes=1))
            assert alerts.post.taken[0][0] - began_at <= timedelta(seconds=2)
            alerts.settle()
            alerts.check()

    yield play


@contextmanager
def _outages(folder: Path) -> Iterator[Play]:
    numbers = count()

    def play(chance: Chance) -> None:
        with watched_alerts(folder / f"{next(numbers)}") as alerts:
            many, hours = (_STORM, 72) if chance.number else (_SHORT_STORM, 12)
            alerts.reject(range(1, 11))
            alerts.work()
            alerts.post.failures = chance.choice(_FAILURES)
            for begin, end in _portions(chance, 11, many + 11, hours):
                alerts.reject(range(begin, end))
                alerts.work(timedelta(minutes=30))
                alerts.work(timedelta(minutes=30))
                if chance.random() < 0.02:
                    alerts.restart()
            before = len(alerts.post.taken)
            alerts.settle()
            alerts.check()
            assert len(alerts.post.taken) - before <= _FEW_DIGESTS

    yield play


def _portions(chance: Chance, begin: int, end: int, count: int) -> Iterator[tuple[int, int]]:
    """Cut a range at random: some portions are storms, some are empty."""
    cuts = sorted(chance.randrange(begin, end + 1) for _ in range(count - 1))
    return pairwise([begin, *cuts, end])


ALERT_STORM: Final = Row(
    name="alert-storm",
    promise=(
        "10,000 rejections arrive within a minute (600 in the short run) while workers restart:"
        " nobody gets more than 12 messages within any hour, the first comes at once, and each "
        "rejection is named to everybody once, in order within each incident"
    ),
    short=1,
    full=20,
    stage=_storms,
)
MAIL_OUTAGE: Final = Row(
    name="mail-outage",
    promise=(
        "for 72 hours the mail server does not answer or refuses for now, while 10,000 "
        "rejections arrive (600 in 12 hours in the short run) and workers restart: nothing is "
        "dead, and then everything is delivered once, in order within each incident, in few "
        "messages"
    ),
    short=1,
    full=20,
    stage=_outages,
)
