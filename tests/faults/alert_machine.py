"""Alerting beside a plain model of it: anything in any order, and clocks that are set."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import Rule, RuleScope
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from tests.builders import A_NETWORK
from tests.faults.alert_world import STRANGER, AlertWorld, alert_world
from tests.faults.model import told
from tests.faults.rows import Chance, Play, Row
from tests.faults.watched_alerts import LEAD, RECIPIENTS

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
RULES: Final = (
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
MEANT: Final[tuple[dict[MatchedProperty, str], ...]] = (
    {MatchedProperty.NETWORK: str(A_NETWORK)},
    {MatchedProperty.MODULE: "HUB"},
    {MatchedProperty.RULE: "busy"},
    {MatchedProperty.SEVERITY: "warning"},
    {MatchedProperty.NETWORK: str(A_NETWORK), MatchedProperty.MODULE: "EXP"},
)
PAUSES: Final = (
    *(timedelta(), timedelta(seconds=1), 31 * timedelta(seconds=1), 4 * _MINUTE, 14 * _MINUTE),
    *(16 * _MINUTE, 31 * _MINUTE, 61 * _MINUTE, 125 * _MINUTE, 7 * _HOUR),
)
JUMPS: Final = tuple(
    sign * each
    for sign in (1, -1)
    for each in (_MINUTE, 40 * _MINUTE, 3 * _HOUR, timedelta(days=7))
)
DEEDS: Final = ("acknowledge", "give back", "hand over", "declare over")

_picks = st.integers(0, 9)
_kinds = st.sampled_from(SilenceKind)
_waits = st.sampled_from([timedelta(), timedelta(), 10 * _MINUTE, 2 * _HOUR])
_lengths = st.sampled_from([5 * _MINUTE, 20 * _MINUTE, 3 * _HOUR, 20 * _HOUR])


class AlertMachine(RuleBasedStateMachine):
    """Each step is taken by the product and by the model, and both are compared after it."""

    def __init__(self) -> None:
        """Begin with an empty store."""
        super().__init__()
        self._folder = Path(mkdtemp(prefix="alerts-"))
        self._ends = ExitStack()
        self._ends.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self.world: AlertWorld

    @initialize()
    def begin(self) -> None:
        place = self._folder / "store"
        self.world = self._ends.enter_context(alert_world(place, RULES, _BEGAN_AT))

    @rule(count=st.sampled_from([1, 1, 2, 5, 40]))
    def transactions_are_rejected(self, count: int) -> None:
        self.world.reject(count)

    @rule(place=st.integers(0, 1))
    def network_turns(self, place: int) -> None:
        self.world.turn(place)

    @rule(kind=_kinds, meant=st.sampled_from(MEANT), wait=_waits, length=_lengths)
    def person_withholds(
        self,
        kind: SilenceKind,
        meant: dict[MatchedProperty, str],
        wait: timedelta,
        length: timedelta,
    ) -> None:
        self.world.withhold(kind, meant, wait, length)

    @rule(pick=_picks)
    def person_ends_a_window(self, pick: int) -> None:
        self.world.end_window(pick)

    @rule(pick=_picks, deed=st.sampled_from(DEEDS))
    def person_responds(self, pick: int, deed: str) -> None:
        self.world.respond(pick, deed)

    @rule(pick=_picks, edit=st.sampled_from(_EDITS))
    def person_edits_a_rule(self, pick: int, edit: Callable[[Rule], Rule]) -> None:
        rules = list(self.world.expected.rules)
        place = pick % len(rules)
        rules[place] = edit(rules[place])
        self.world.change_rules(tuple(rules))

    @rule(pick=_picks)
    def person_removes_a_rule_or_adds_all_again(self, pick: int) -> None:
        rules = list(self.world.expected.rules)
        rules.pop(pick % len(rules))
        self.world.change_rules(tuple(rules) or RULES)

    @rule(recipient=st.sampled_from((*RECIPIENTS, LEAD)))
    def address_is_turned_off_or_on(self, recipient: Recipient) -> None:
        self.world.turn_address(recipient)

    @rule()
    def mail_server_fails_or_works_again(self) -> None:
        self.world.turn_mail()

    @rule()
    def worker_restarts(self) -> None:
        self.world.restart()

    @rule(by=st.sampled_from(JUMPS))
    def clock_is_set(self, by: timedelta) -> None:
        self.world.set_clock(by)

    @rule(length=st.sampled_from(PAUSES))
    def time_passes(self, length: timedelta) -> None:
        self.world.wait(length)

    def teardown(self) -> None:
        """Let all be sent, unless a step failed; then nothing is missing."""
        with self._ends:
            self.world.settle()


def play(how: settings, chosen: int) -> None:
    """Play sequences drawn from a seed; AssertionError tells where product and model differ."""
    run_state_machine_as_test(seed(chosen)(AlertMachine), settings=how)


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
        "rejections, busy networks, edited rules, overlapping silences and maintenance, people "
        "who respond, addresses that are off, outages, set clocks and restarts: after each of "
        "25 steps the incidents match a plain model; in the end every change reached everybody "
        "it concerns once, nobody else, none too early, with at most 12 messages an hour"
    ),
    short=2 * _SEQUENCES,
    full=2_000,
    stage=_anything,
    cases_per_play=_SEQUENCES,
)
SET_CLOCKS: Final = Row(
    name="set-clocks",
    promise=(
        "around a change of daylight saving in 20 time zones, clocks are set by up to 7 days, "
        "forwards and back, and workers restart: compared with a plain model no change, "
        "reminder, escalation, quiet hour, silence or maintenance is missed, and none comes "
        "twice"
    ),
    short=_CASES,
    full=200 * len(_ZONES),
    stage=_clocks,
    cases_per_play=_CASES,
)
