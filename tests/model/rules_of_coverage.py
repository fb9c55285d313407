"""Workers look whether networks are watched, and pause; upstream is silent for a while."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dashboard.domain.health.coverage import Watched
from dashboard.domain.health.observation import Failure, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.poll.clocks import Clocks
from dashboard.poll.conditions import CoverageWatch
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.answer_counts import record_answer, record_failure
from tests.builders import A_MOMENT
from tests.model.coverage import Silence
from tests.model.fees import newest
from tests.model.machine import Memory, Part, StoreMachine
from tests.model.world import failures, networks

_LONG: Final = timedelta(minutes=2)
_OPERATIONS: Final = {
    Watched.FEES: Operation.SUGGESTED_GAS_FEES,
    Watched.REJECTIONS: Operation.EXCLUSION_STATUS,
}
pauses = st.sampled_from([timedelta(seconds=each) for each in (0, 1, 29, 30, 119, 120, 3600)])
some_watched = st.sampled_from([tuple(Watched), (Watched.REJECTIONS,)])


class WatchingMachine(StoreMachine):
    """Rules of coverage."""

    @rule(
        network_id=networks,
        watched=some_watched,
        pauses=st.lists(pauses, min_size=1, max_size=3),
        is_new=st.booleans(),
        set_back=st.sampled_from([timedelta(), timedelta(), timedelta(hours=1)]),
    )
    def worker_looks(
        self,
        network_id: NetworkId,
        watched: Sequence[Watched],
        pauses: Sequence[timedelta],
        set_back: timedelta,
        *,
        is_new: bool,
    ) -> None:
        """Look after each pause; by a clock that may have been set back."""
        if is_new:
            self.looked_at.pop(network_id, None)
        for pause in pauses:
            self.now += pause
            self._look(network_id, watched, self.now - set_back)

    @rule(
        network_id=networks,
        which=st.sampled_from(Watched),
        pauses=st.lists(pauses, min_size=2, max_size=3),
        failure=failures,
        is_broken=st.booleans(),
    )
    def upstream_is_silent(
        self,
        network_id: NetworkId,
        which: Watched,
        pauses: Sequence[timedelta],
        failure: Failure,
        *,
        is_broken: bool,
    ) -> None:
        """Ask in vain while a worker looks, and perhaps get an answer then."""
        for pause in pauses:
            self.now += pause
            self._ask(network_id, _OPERATIONS[which], failure)
            self._look(network_id, tuple(Watched), self.now)
        if is_broken:
            self._ask(network_id, _OPERATIONS[which], None)
            self._look(network_id, tuple(Watched), self.now)

    def _ask(self, network_id: NetworkId, operation: Operation, failure: Failure | None) -> None:
        at = self.now

        def act(connection: Connection) -> None:
            if failure is None:
                record_answer(connection, network_id, operation, at)
            else:
                record_failure(connection, network_id, at, (operation, failure))

        def expect(held: Memory, _: object) -> None:
            if failure is None:
                held.tracking.silences.answered(network_id, operation)
            else:
                held.tracking.silences.failed(network_id, at, operation, failure)

        self.change(act, expect, Part.TRACKING)

    def _look(self, network_id: NetworkId, watched: Sequence[Watched], at: datetime) -> None:
        elapsed, looked_at = self.now - A_MOMENT, self.looked_at.get(network_id)
        watch = CoverageWatch(network_id, watched, Clocks(lambda: at, lambda: elapsed), looked_at)

        def expect(held: Memory, said: timedelta) -> None:
            assert said == elapsed
            for each in watched:
                silence = _silence(held, network_id, each, at)
                pause = None if looked_at is None else elapsed - looked_at
                held.coverage.look((network_id, each), at, pause, silence)
            self.looked_at[network_id] = elapsed

        self.change(watch.look, expect, Part.COVERAGE)


def _silence(
    held: Memory, network_id: NetworkId, watched: Watched, now: datetime
) -> Silence | None:
    """Return since when nobody answers, where failures span a while and the node helps not out."""
    standing = held.tracking.silences.standing.get((network_id, _OPERATIONS[watched]))
    if standing is None or standing.last_failed_at - standing.failing_since < _LONG:
        return None
    told = newest(held.fees.observed[network_id], now)
    if watched is Watched.FEES and told is not None and told.asked_at >= standing.failing_since:
        return None
    return Silence(standing.failing_since, standing.failure.message)
