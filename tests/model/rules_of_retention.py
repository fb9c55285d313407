"""Time is up for what is old: the house is kept, to its end or until the process is killed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from dashboard.domain.health.retention import Retention
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.retention.apply import apply_retention
from tests.model.machine import ALL, Memory, Part
from tests.model.retention import (
    forget_answers,
    forget_ends,
    purge_notifications,
    purge_rejections,
)
from tests.model.rules_of_alerting import TellingMachine
from tests.model.world import networks

_ORDER: Final = (
    "notifications",
    "rejections",
    "answers",
    "saved look-ups",
    "follow-ups",
    "uses of keys",
    "audit log",
    "credits",
    "answers of sources",
    "coverage gaps",
)
_MANY: Final = 1000
"""Rows of a step: all there are of a kind, so that a kill comes between kinds."""

_AN_HOUR: Final = timedelta(hours=1)
_SHORTLY: Final = Retention(
    fees=None,
    fee_minutes=None,
    rejections=_AN_HOUR,
    notifications=_AN_HOUR,
    untracked_answers=_AN_HOUR,
    saved_lookups=_AN_HOUR,
    audit_log=_AN_HOUR,
    credits=_AN_HOUR,
    coverage_gaps=_AN_HOUR,
)
_FORGOTTEN: Final = (
    Part.ARCHIVE | Part.TRACKING | Part.ALERTING | Part.AUDIT | Part.CREDITS | Part.COVERAGE
)
days = st.sampled_from([timedelta(seconds=1), timedelta(days=1), timedelta(days=3)])
ages = st.none() | st.sampled_from([timedelta(seconds=1), _AN_HOUR, timedelta(days=1)])
retentions = st.builds(
    Retention,
    fees=st.none(),
    fee_minutes=st.none(),
    rejections=ages,
    notifications=ages,
    untracked_answers=ages,
    saved_lookups=ages,
    audit_log=days,
    credits=ages,
    coverage_gaps=ages,
)


class ForgettingMachine(TellingMachine):
    """Rules of retention; each step is a transaction of its own."""

    @rule(network_id=networks)
    def news_is_told_and_long_past(self, network_id: NetworkId) -> None:
        self.postman_does_a_round(network_id, 3)
        if self.is_grouping:
            return
        for pick in range(len(self.hands)):
            self.worker_has_sent(pick, "250 ok")
        self.time_passes(timedelta(days=2))
        self.house_is_kept(_SHORTLY, steps=9)

    @precondition(lambda self: not self.is_grouping)
    @rule(steps=st.integers(1, 9))
    def everything_is_long_past(self, steps: int) -> None:
        self.time_passes(timedelta(days=2))
        self.house_is_kept(_SHORTLY, steps)

    @precondition(lambda self: not self.is_grouping)
    @rule(kept=retentions, steps=st.integers(1, 9))
    def house_is_kept(self, kept: Retention, steps: int) -> None:
        self.is_sound = False
        before = kept.before(self.now)
        unhurried = AdaptiveBatches(lambda: 0.0, _MANY)
        taken = list(islice(apply_retention(self.lives.store, before, unhurried), steps))
        if len(taken) < steps:
            self._forget(self.held, before, _ORDER)
        else:
            self._forget(self.held, before, _ORDER[: _ORDER.index(taken[-1].kind) + 1])
            self.lives.end()
            self.looked_at.clear()
            self._touched = ALL
        messages = self.held.alerting.messages
        self.hands = [each for each in self.hands if each.notification_id in messages]
        self._touched |= _FORGOTTEN
        self._check_any([self.held])
        self._touched, self.is_sound = Part(0), True

    def _forget(self, held: Memory, before: Mapping[str, datetime], kinds: tuple[str, ...]) -> None:
        """Forget likewise, as far as the steps came."""
        archive, tracking, alerting = held.archive, held.tracking, held.alerting
        if "notifications" in before and "notifications" in kinds:
            purge_notifications(archive, tracking, alerting, before["notifications"])
        if "rejections" in before and "rejections" in kinds:
            purge_rejections(archive, tracking, alerting, before["rejections"])
        if "untracked_answers" in before and "answers" in kinds:
            forget_answers(tracking, before["untracked_answers"])
        if "untracked_answers" in before and "follow-ups" in kinds:
            forget_ends(archive, tracking, before["untracked_answers"])
        if "audit_log" in before and "audit log" in kinds:
            held.log.forget(before["audit_log"], datetime.now(UTC))
        if "credits" in before and "credits" in kinds:
            held.ledger.forget(before["credits"])
        if "coverage_gaps" in before and "coverage gaps" in kinds:
            held.coverage.forget(before["coverage_gaps"])
