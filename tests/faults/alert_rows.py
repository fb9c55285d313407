"""Rows that play alerting beside a plain model of it: anything in any order, and set clocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, Phase, settings

from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from tests.faults.alert_machine import DEEDS, JUMPS, MEANT, PAUSES, play
from tests.faults.alert_world import AlertWorld, alert_world
from tests.faults.model import told
from tests.faults.rows import Chance, Play, Row
from tests.faults.watched_alerts import LEAD, RECIPIENTS

_SEQUENCES: Final = 4
_STEPS: Final = 25
_ZONES: Final = (
    *("Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Lisbon", "Europe/Kyiv"),
    *("America/New_York", "America/Los_Angeles", "America/St_Johns", "America/Halifax"),
    *("America/Havana", "America/Santiago", "America/Nuuk", "Australia/Lord_Howe"),
    *("Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham", "Africa/Cairo"),
    *("Asia/Beirut", "Asia/Jerusalem", "Asia/Kolkata"),
)
_CASES: Final = 5
_HOUR: Final = timedelta(hours=1)
_YEAR: Final = tuple(datetime(2026, 1, 1, tzinfo=UTC) + hour * _HOUR for hour in range(365 * 24))
_DEEDS_PER_CASE: Final = 10


@contextmanager
def _anything(_folder: Path) -> Iterator[Play]:
    """Play sequences of steps that hypothesis draws."""
    how = settings(
        max_examples=_SEQUENCES,
        stateful_step_count=_STEPS,
        database=None,
        deadline=None,
        phases=(Phase.generate,),  # the table counts failures; a test shortens them
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )

    def run(chance: Chance) -> None:
        try:
            play(how, chance.getrandbits(32))
        except Exception as error:
            raise AssertionError(told(error)) from error

    yield run


@contextmanager
def _clocks(folder: Path) -> Iterator[Play]:
    """Play the days around a change of the clocks in each zone."""
    numbers = count()

    def run(chance: Chance) -> None:
        for case in chance.cases(_CASES):
            zone = _ZONES[(chance.number * _CASES + case) % len(_ZONES)]
            began_at = chance.choice(_changes(zone)) - chance.randrange(1, 30) * _HOUR
            place = folder / f"{next(numbers)}"
            with alert_world(place, _rules(chance, zone), began_at) as world:
                for _ in range(_DEEDS_PER_CASE):
                    _do_something(world, chance)
                world.settle()

    yield run


@cache
def _changes(zone: str) -> list[datetime]:
    """Return the hours of a year at which clocks of a zone are set; any where they never are."""
    offsets = [each.astimezone(ZoneInfo(zone)).utcoffset() for each in _YEAR]
    pairs = zip(_YEAR, pairwise(offsets), strict=False)
    return [at for at, (before, after) in pairs if before != after] or list(_YEAR)


def _rules(chance: Chance, zone: str) -> tuple[Rule, ...]:
    """Return rules with hours that mostly begin in the night, about when clocks are set."""
    begins, length = chance.randrange(0, 5 * 60, 10), chance.randrange(10, 20 * 60, 10)
    nightly = WeekSpan(tuple(range(7)), begins, (begins + length) % (24 * 60))
    hours = ActiveHours((nightly,), zone)
    return (
        Rule("rejections", RuleKind.REJECTED, active_hours=hours),
        Rule(
            "busy",
            RuleKind.BUSY,
            active_hours=chance.choice((hours, None)),
            remind_every=chance.choice((_HOUR, 5 * _HOUR)),
            escalate_after=2 * _HOUR,
            escalate_to=(LEAD,),
        ),
        Rule("all", RuleKind.REJECTED, recipients=(LEAD, RECIPIENTS[0])),
    )


def _do_something(world: AlertWorld, chance: Chance) -> None:
    """Let one thing happen, most often that a clock is set, then time pass."""
    choice = chance.randrange(10)
    if choice < 3:
        world.reject(chance.choice((1, 3, 9)))
    elif choice < 5:
        world.turn(chance.randrange(2))
    elif choice == 5:
        wait, length = chance.randrange(0, 10) * _HOUR, chance.randrange(1, 20) * _HOUR
        world.withhold(chance.choice(list(SilenceKind)), chance.choice(MEANT), wait, length)
    elif choice == 6:
        world.respond(chance.randrange(10), chance.choice(DEEDS))
    elif choice == 7:
        world.restart()
    else:
        world.set_clock(chance.choice(JUMPS))
    world.wait(chance.choice(PAUSES))


ALERT_MACHINE: Final = Row(
    name="alert-machine",
    promise=(
        "rejections, networks that turn busy or calm, rules that are edited, turned off and "
        "removed, silences and maintenance that overlap or end early, people who respond, "
        "addresses that are off or not verified, outages, clocks that are set and workers that "
        "restart, in sequences of 25 steps: after every step the incidents match a plain model; in "
        "the end every change reached everybody it concerns once, nobody else, none too early, "
        "with at most 12 messages an hour"
    ),
    short=2 * _SEQUENCES,
    full=2_000,
    stage=_anything,
    cases_per_play=_SEQUENCES,
)
SET_CLOCKS: Final = Row(
    name="set-clocks",
    promise=(
        "in the days around a change of daylight saving in 20 time zones, clocks are set by up to "
        "7 days, forwards and back, and workers restart: compared with a plain model no change, "
        "reminder, escalation, quiet hour, silence or maintenance is missed, and none comes twice"
    ),
    short=_CASES,
    full=200 * len(_ZONES),
    stage=_clocks,
    cases_per_play=_CASES,
)
