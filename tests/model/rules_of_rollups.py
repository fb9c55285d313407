"""Single fees are forgotten, and others come late to what is left of them: their roll-ups."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from dashboard.domain.fees.gas import GasSource
from dashboard.domain.health.observation import Operation
from dashboard.domain.health.retention import Retention
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.retention.apply import apply_retention
from tests.model.machine import ALL, Part
from tests.model.rules_of_saving import KeepingMachine, gas_seen
from tests.model.world import networks

_A_WHILE: Final = timedelta(minutes=3)
_WORST: Final = dict.fromkeys(Operation, GasSource.NODE_INSTEAD)
_BEST: Final = dict.fromkeys(Operation, GasSource.GAS_API)
_FEW: Final = 5
"""Rows of a step, so that a series takes several."""


class Way(Enum):
    """How a fee comes late."""

    FROM_ELSEWHERE = auto()
    POLLED = auto()
    REPLACED = auto()


ways = st.sampled_from(Way)
ages = st.sampled_from([timedelta(), timedelta(minutes=1), timedelta(hours=2)])
differences = st.sampled_from([timedelta(seconds=each) for each in (0, 0, 1, 40)])


class RollingUpMachine(KeepingMachine):
    """Rules of fees that are kept by their roll-ups only."""

    @precondition(lambda self: not self.is_grouping)
    @rule(kept=ages, is_killed=st.booleans())
    def fees_are_rolled_up_only(self, kept: timedelta, *, is_killed: bool) -> None:
        """Forget single fees to the end; what they make up together stays."""
        self.is_sound = False
        before = Retention(fees=kept).before(self.now)["fees"]
        for _ in apply_retention(
            self.lives.store, {"fees": before}, AdaptiveBatches(lambda: 0.0, _FEW)
        ):
            pass
        self.held.fees.forget(before)
        if is_killed:
            self.lives.end()
            self.looked_at.clear()
        self._touched = ALL if is_killed else Part.FEES
        self._check_any([self.held])
        self._touched, self.is_sound = Part(0), True

    @precondition(lambda self: not self.is_grouping)
    @rule(
        network_id=networks,
        first=gas_seen(),
        late=st.lists(st.tuples(gas_seen(), differences, ways), min_size=1, max_size=3),
    )
    def fees_come_late_to_roll_ups(
        self,
        network_id: NetworkId,
        first: dict[str, Any],
        late: list[tuple[dict[str, Any], timedelta, Way]],
    ) -> None:
        """Let fees come to a minute, or beside it, of which only the roll-up is left."""
        here = {"network_id": network_id}
        self.gas_is_polled(first | here, _A_WHILE, None)
        if self.is_grouping:
            return
        self.fees_are_rolled_up_only(timedelta(), is_killed=False)
        for seen, difference, way in late:
            age = _A_WHILE - difference
            if way is Way.FROM_ELSEWHERE:
                self.gas_comes_from_elsewhere([(seen | here, age)])
                continue
            self.gas_is_polled(seen | here | {"sources": _WORST}, age, timedelta(seconds=2))
            if way is Way.REPLACED:
                self.gas_is_polled(first | here | {"sources": _BEST}, age, None)
