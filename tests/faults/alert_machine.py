"""Rules, silences, people, clocks, outages and restarts in any order, beside a plain model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import seed, settings
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
