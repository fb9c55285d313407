"""Storms, outages, silences and restarts: everybody hears of everything once, in few messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Final

from dashboard.domain.audit import Actor
from dashboard.domain.incident_response import acknowledge
from dashboard.domain.matcher import MatchedProperty, Matcher
from dashboard.domain.silence import SilenceKind, SilenceRequest
from dashboard.errors import DeliveryBlocked, DeliveryError
from dashboard.store.alerts.incident_list import open_incident_stories, respond
from dashboard.store.alerts.silences import add_silence
from tests.builders import A_NETWORK, an_id
from tests.faults.rows import Chance, Play, Row
from tests.faults.watched_alerts import WatchedAlerts, watched_alerts

_STORM: Final = 10_000
_SHORT_STORM: Final = 600
_STEPS: Final = 30
_PAUSES: Final = tuple(map(timedelta, (0, 0, 0, 0), (0, 1, 31, 400)))
_SECOND: Final = timedelta(seconds=1)
_FEW_DIGESTS: Final = 60
"""Messages to both recipients together after an outage, however much waited."""

_NOT_NOW: Final = DeliveryError("450 4.2.0 try again later")
_DOWN: Final = DeliveryBlocked("the mail server is down")
_FAILURES: Final = ((_DOWN,), (_NOT_NOW,), (_DOWN, _NOT_NOW))
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


@contextmanager
def _walks(folder: Path) -> Iterator[Play]:
    numbers = count()

    def play(chance: Chance) -> None:
        with watched_alerts(folder / f"{next(numbers)}") as alerts:
            _Walk(alerts, chance).go()

    yield play


class _Walk:
    """Things that happen in any order, and what each changes in what is promised."""

    def __init__(self, alerts: WatchedAlerts, chance: Chance) -> None:
        self._alerts, self._chance = alerts, chance
        self._next = 1
        self._silences = 0
        self._silent_until = alerts.clock.now()

    def go(self) -> None:
        steps = (self._reject, self._reject, self._silence, self._acknowledge)
        for _ in range(_STEPS):
            self._chance.choice((*steps, self._turn_mail, self._alerts.restart, self._set_clock))()
            self._alerts.work(self._chance.choice(_PAUSES))
        self._alerts.settle()
        self._alerts.check()

    def _reject(self) -> None:
        end = self._next + self._chance.randrange(1, 40)
        is_silenced = self._alerts.clock.now() < self._silent_until
        self._alerts.reject(range(self._next, end), is_silenced=is_silenced)
        self._next = end
        self._alerts.work()

    def _silence(self) -> None:
        now = self._alerts.clock.now()
        end = now + timedelta(minutes=self._chance.randrange(1, 90))
        matcher = Matcher(MatchedProperty.NETWORK, str(A_NETWORK))
        self._silences += 1
        wish = SilenceRequest(
            an_id(self._silences), SilenceKind.SILENCE, (matcher,), now, end, "known"
        )
        with self._alerts.store.write() as connection:
            add_silence(connection, wish, Actor("Ann", now))
        self._silent_until = max(self._silent_until, end)

    def _acknowledge(self) -> None:
        by = Actor("Ann", self._alerts.clock.now())
        with self._alerts.store.write() as connection:
            for story in open_incident_stories(connection, 1):
                incident_id = story.incident.incident_id
                respond(connection, incident_id, partial(acknowledge, by=by))

    def _turn_mail(self) -> None:
        post = self._alerts.post
        post.failures = () if post.failures else (_DOWN,)

    def _set_clock(self) -> None:
        self._alerts.clock.set_clock(timedelta(minutes=self._chance.randrange(1, 5)))


ALERT_STORM: Final = Row(
    name="alert-storm",
    promise=(
        "10,000 rejections within a minute (600 in the short run), while workers restart: nobody "
        "gets more than 12 messages within any hour, the first at once, and each rejection is "
        "named to everybody exactly once, in order within each incident"
    ),
    short=1,
    full=20,
    stage=_storms,
)
MAIL_OUTAGE: Final = Row(
    name="mail-outage",
    promise=(
        "no mail server answers for 72 hours, or it takes nothing for now, while 10,000 rejections "
        "arrive (600 in 12 hours in the short run) and workers restart: nothing is dead, and "
        "everything is delivered once when one does, in order within each incident, in few messages"
    ),
    short=1,
    full=20,
    stage=_outages,
)
ALERT_WALK: Final = Row(
    name="alert-walk",
    promise=(
        "rejections, silences, acknowledgements, outages, clocks that are set and workers that "
        "restart, in any order: every change reaches everybody once, or nobody where a silence "
        "fits, and no hour brings more than 12 messages"
    ),
    short=3,
    full=2_000,
    stage=_walks,
)
