"""Alerting beside its plain model: anything in any order, storms, outages, clocks that are set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.errors import DeliveryError
from tests.builders import A_MOMENT, A_NETWORK
from tests.faults.alert_world import STRANGER, AlertWorld, alert_world
from tests.faults.alerting_lives import DOWN, LEAD, RECIPIENTS
from tests.faults.rows import Chance, Row, playing

_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_BEGAN_AT: Final = datetime(2026, 3, 28, 12, tzinfo=ZoneInfo("Europe/Berlin"))
"""The day before clocks are put forward."""

_NIGHTS: Final = tuple(
    ActiveHours(tuple(map(WeekSpan.parse, spans)), "Europe/Berlin")
    for spans in (
        ("mon-sun 02:30-05:00",),
        ("sat-sun 22:00-02:15", "mon-fri 08:00-18:00"),
        ("mon-sun 06:00-22:00",),
    )
)
_RULES: Final = (
    Rule("rejections", RuleKind.REJECTED, escalate_after=30 * _MINUTE, escalate_to=(LEAD,)),
    Rule("hub", RuleKind.REJECTED, scope=RuleScope(modules=("HUB",)), recipients=(LEAD,)),
    Rule("busy", RuleKind.BUSY, remind_every=_HOUR, escalate_after=2 * _HOUR, escalate_to=(LEAD,)),
    Rule("busy-at-night", RuleKind.BUSY, active_hours=_NIGHTS[2], recipients=(LEAD, RECIPIENTS[0])),
)
_EDITS: Final[tuple[Callable[[Rule], Rule], ...]] = (
    lambda each: replace(each, remind_every=20 * _MINUTE),
    lambda each: replace(each, remind_every=None),
    lambda each: replace(each, escalate_after=50 * _MINUTE, escalate_to=RECIPIENTS[1:]),
    lambda each: replace(each, escalate_after=None, escalate_to=()),
    lambda each: replace(each, recipients=RECIPIENTS[:1]),
    lambda each: replace(each, recipients=()),
    lambda each: replace(each, recipients=(STRANGER, LEAD)),
    lambda each: replace(each, active_hours=None),
    lambda each: replace(each, is_enabled=not each.is_enabled),
    lambda each: (
        replace(each, scope=RuleScope(modules=("HUB", "ADD")))
        if each.kind is RuleKind.REJECTED
        else each
    ),
    *(lambda each, hours=hours: replace(each, active_hours=hours) for hours in _NIGHTS),
)
_MATCHED: Final[tuple[dict[MatchedProperty, str], ...]] = (
    {MatchedProperty.NETWORK: str(A_NETWORK)},
    {MatchedProperty.MODULE: "HUB"},
    {MatchedProperty.RULE: "busy"},
    {MatchedProperty.SEVERITY: "warning"},
    {MatchedProperty.NETWORK: str(A_NETWORK), MatchedProperty.MODULE: "EXP"},
)
_WAITS: Final = (timedelta(), timedelta(), 10 * _MINUTE, 2 * _HOUR, 9 * _HOUR)
_LENGTHS: Final = (5 * _MINUTE, 20 * _MINUTE, 3 * _HOUR, 20 * _HOUR)
_PAUSES: Final = (
    *(timedelta(), _SECOND, 31 * _SECOND, 4 * _MINUTE, 14 * _MINUTE),
    *(16 * _MINUTE, 31 * _MINUTE, 61 * _MINUTE, 125 * _MINUTE, 7 * _HOUR),
)
_JUMPS: Final = tuple(
    sign * each
    for sign in (1, -1)
    for each in (_MINUTE, 40 * _MINUTE, 3 * _HOUR, timedelta(days=7))
)
_DEEDS: Final = ("acknowledge", "give back", "hand over", "declare over")

Act: TypeAlias = Callable[[AlertWorld, Chance], None]


def _reject(world: AlertWorld, chance: Chance) -> None:
    world.reject(chance.choice((1, 1, 2, 5, 40)))


def _turn(world: AlertWorld, chance: Chance) -> None:
    world.turn(chance.randrange(2))


def _withhold(world: AlertWorld, chance: Chance) -> None:
    kind, matched = chance.choice(list(SilenceKind)), chance.choice(_MATCHED)
    world.withhold(kind, matched, chance.choice(_WAITS), chance.choice(_LENGTHS))


def _end_window(world: AlertWorld, chance: Chance) -> None:
    world.end_window(chance.randrange(10))


def _respond(world: AlertWorld, chance: Chance) -> None:
    world.respond(chance.randrange(10), chance.choice(_DEEDS))


def _edit_a_rule(world: AlertWorld, chance: Chance) -> None:
    rules = list(world.expected.rules)
    place = chance.randrange(len(rules))
    rules[place] = chance.choice(_EDITS)(rules[place])
    world.change_rules(tuple(rules))


def _remove_a_rule(world: AlertWorld, chance: Chance) -> None:
    """Remove one, or add all again after the last."""
    rules = list(world.expected.rules)
    rules.pop(chance.randrange(len(rules)))
    world.change_rules(tuple(rules) or _RULES)


def _turn_address(world: AlertWorld, chance: Chance) -> None:
    world.turn_address(chance.choice((*RECIPIENTS, LEAD)))


def _turn_mail(world: AlertWorld, _chance: Chance) -> None:
    world.turn_mail()


def _restart(world: AlertWorld, chance: Chance) -> None:
    """Restart, and perhaps let the worker before go on, which lost its lease."""
    world.restart()
    if chance.random() < 0.5:
        world.reject(chance.choice((1, 5)))
        world.wake_the_one_before(chance.choice((_SECOND, 5 * _MINUTE)))


def _kill(world: AlertWorld, chance: Chance) -> None:
    """Kill the worker between two statements, now or at its work to come."""
    world.kill(chance.randrange(chance.choice((10, 100))))


def _set_clock(world: AlertWorld, chance: Chance) -> None:
    world.set_clock(chance.choice(_JUMPS))


def _wait(world: AlertWorld, chance: Chance) -> None:
    world.wait(chance.choice(_PAUSES))


_ANYTHING: Final[tuple[Act, ...]] = (
    *(_reject, _reject, _turn, _turn, _withhold, _withhold, _end_window, _respond),
    *(_edit_a_rule, _remove_a_rule, _turn_address, _turn_mail, _restart, _kill, _kill),
    *(_set_clock, _wait, _wait),
)
_STEPS: Final = 25
_SEQUENCES: Final = 4


def _let_anything_happen(home: Path, chance: Chance) -> None:
    """Play sequences of steps, one of them on PostgreSQL."""
    for case in chance.cases(_SEQUENCES):
        database = "sqlite" if case else "postgresql"
        with alert_world(home / str(case), _RULES, _BEGAN_AT, database) as world:
            _play(world, chance, [chance.choice(_ANYTHING) for _ in range(_STEPS)])


def _play(world: AlertWorld, chance: Chance, acts: list[Act]) -> None:
    """Let these happen, and then all be sent; say after which of them the model differs."""
    done: list[str] = []
    try:
        for act in acts:
            done.append(act.__name__.lstrip("_"))
            act(world, chance)
        world.settle()
    except AssertionError as error:
        raise AssertionError(f"{error}; after: {', '.join(done)}") from error


_ZONES: Final = (
    *("Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Lisbon", "Europe/Kyiv"),
    *("America/New_York", "America/Los_Angeles", "America/St_Johns", "America/Halifax"),
    *("America/Havana", "America/Santiago", "America/Nuuk", "Australia/Lord_Howe"),
    *("Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham", "Africa/Cairo"),
    *("Asia/Beirut", "Asia/Jerusalem", "Asia/Kolkata"),
)
_CASES: Final = 5
_YEAR: Final = tuple(datetime(2026, 1, 1, tzinfo=UTC) + hour * _HOUR for hour in range(365 * 24))
_AROUND_A_CHANGE: Final[tuple[Act, ...]] = (
    *(_reject, _reject, _reject, _turn, _turn, _withhold, _respond, _restart),
    *(_set_clock, _set_clock),
)
_STEPS_AROUND_A_CHANGE: Final = 10


def _set_clocks(home: Path, chance: Chance) -> None:
    """Play the days around a change of the clocks in zone after zone."""
    for case in chance.cases(_CASES):
        zone = _ZONES[(chance.number * _CASES + case) % len(_ZONES)]
        began_at = chance.choice(_changes(zone)) - chance.randrange(1, 30) * _HOUR
        acts = [chance.choice(_AROUND_A_CHANGE) for _ in range(_STEPS_AROUND_A_CHANGE)]
        with alert_world(home / str(case), _rules(chance, zone), began_at) as world:
            _play(world, chance, [each for act in acts for each in (act, _wait)])


@cache
def _changes(zone: str) -> list[datetime]:
    """Return the hours of a year at which clocks of a zone are set; any if they never are."""
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


_STORM: Final = 10_000
_SHORT_STORM: Final = 300
_ONE_RULE: Final = (Rule("rejections", RuleKind.REJECTED),)
_FEW_DIGESTS: Final = 60
"""Messages to both recipients together after an outage, however much waited."""

_NOT_NOW: Final = DeliveryError("450 4.2.0 try again later")
_FAILURES: Final = ((DOWN,), (_NOT_NOW,), (DOWN, _NOT_NOW))
"""How a server fails for hours: it does not answer, takes nothing for now, or both in turn."""


def _storm(home: Path, chance: Chance) -> None:
    """Reject thousands within a minute; the first message comes at once."""
    many = _STORM if chance.number else _SHORT_STORM
    with alert_world(home / "storm", _ONE_RULE, A_MOMENT) as world:
        for begin, end in pairwise(second * many // 60 for second in range(61)):
            world.clock.wait(_SECOND)
            world.reject(end - begin)
            if chance.random() < 0.02:
                world.restart()
        for _ in range(30):
            world.work(2 * _MINUTE)
        assert world.post.taken[0].at - A_MOMENT <= 2 * _SECOND, "the first message came late"
        world.settle()
        world.check_order()


def _outage(home: Path, chance: Chance) -> None:
    """Reject thousands while the mail server fails for days: then all comes, in few messages."""
    many, hours = (_STORM, 72) if chance.number else (_SHORT_STORM, 12)
    with alert_world(home / "outage", _ONE_RULE, A_MOMENT) as world:
        world.reject(10)
        world.post.failures = chance.choice(_FAILURES)
        cuts = sorted(chance.randrange(many + 1) for _ in range(hours - 1))
        for begin, end in pairwise([0, *cuts, many]):
            world.work(30 * _MINUTE)
            world.clock.wait(30 * _MINUTE)
            world.reject(end - begin)
            if chance.random() < 0.02:
                world.restart()
        before = len(world.post.taken)
        world.settle()
        world.check_order()
        assert len(world.post.taken) - before <= _FEW_DIGESTS


ALERT_STORM: Final = Row(
    name="alert-storm",
    promise=(
        "10,000 rejections arrive within a minute while workers restart: nobody gets more than 12"
        " messages an hour, the first comes at once, each rejection is named to everybody once, "
        "in order within each incident"
    ),
    short=1,
    full=20,
    stage=playing(nullcontext, _storm),
)
MAIL_OUTAGE: Final = Row(
    name="mail-outage",
    promise=(
        "for 72 hours the mail server is silent or refuses for now, while 10,000 rejections "
        "arrive and workers restart: nothing is dead, and then everything is delivered once, in "
        "order within each incident, in few messages"
    ),
    short=1,
    full=20,
    stage=playing(nullcontext, _outage),
)
ALERT_MACHINE: Final = Row(
    name="alert-machine",
    promise=(
        "rejections, busy networks, edited rules, silences, maintenance, people who respond, "
        "addresses that are off, outages, set clocks, restarts and kills between any two "
        "statements, on both databases: incidents match a plain model after each of 25 steps; "
        "every change reached whom it concerns once (*twice* only as below), nobody else, none "
        "too early, with at most 12 messages an hour"
    ),
    short=_SEQUENCES,
    full=2_000,
    stage=playing(nullcontext, _let_anything_happen),
    cases_per_play=_SEQUENCES,
)
SET_CLOCKS: Final = Row(
    name="set-clocks",
    promise=(
        "around a change of daylight saving in 20 time zones, clocks are set by up to 7 days, "
        "forwards and back, and workers restart: no change, reminder, escalation, quiet hour, "
        "silence or maintenance is missed or comes twice"
    ),
    short=_CASES,
    full=200 * len(_ZONES),
    stage=playing(nullcontext, _set_clocks),
    cases_per_play=_CASES,
)
