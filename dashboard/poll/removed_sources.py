"""Removed sources: networks and APIs that the settings named once, and what lasted on them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from dashboard.detect.outage import end_unwatched
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.health.coverage import Gap, Watched
from dashboard.domain.quantity import NetworkId
from dashboard.poll.lease import Clocks, Term
from dashboard.store.alerts.alert_status import open_incidents, pending_conditions
from dashboard.store.alerts.conditions import record_transition, set_turning_since
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.busy_window import save_spell
from dashboard.store.monitoring.coverage import end_gap, open_gaps

_OF_FEES: Final = frozenset({SubjectKind.GAS_API, SubjectKind.FEES, SubjectKind.BUSYNESS})


@dataclass(frozen=True, slots=True)
class RemovedSources:
    """Ends what lasts on networks and APIs that nobody asks any more, since no poll does.

    Otherwise its incidents would stay open and remind people for good, rules would count as not
    evaluated, and a gap would never end.
    """

    store: Store
    with_fees: Collection[NetworkId]
    with_exclusion: Collection[NetworkId]
    clocks: Clocks
    new_id: Callable[[], UUID]

    def end(self, term: Term) -> None:
        """End what lasts, if anything does; raises StoreError, or LeaseLost."""
        with self.store.read() as connection:
            if not (self._left(connection) or self._gaps(connection)):
                return
        with self.store.write() as connection:
            term.check(connection)
            for subject, state in self._left(connection):
                self._end(connection, subject, state)
            for gap in self._gaps(connection):
                end_gap(connection, gap, self.clocks.now())

    def _left(self, connection: Connection) -> list[tuple[Subject, State | None]]:
        """Return what lasts, with its state, and what is pending, with None."""
        lasting = [(each.subject, each.state) for each in open_incidents(connection)]
        pending = [(each.subject, None) for each in pending_conditions(connection)]
        return [each for each in (*lasting, *pending) if not self._is_asked(each[0])]

    def _gaps(self, connection: Connection) -> list[Gap]:
        asked = {Watched.FEES: self.with_fees, Watched.REJECTIONS: self.with_exclusion}
        return [
            each for each in open_gaps(connection) if each.network_id not in asked[each.watched]
        ]

    def _is_asked(self, subject: Subject) -> bool:
        if subject.kind in _OF_FEES:
            return subject.network_id in self.with_fees
        is_of_exclusion = subject.kind is SubjectKind.EXCLUSION_API
        return not is_of_exclusion or subject.network_id in self.with_exclusion

    def _end(self, connection: Connection, subject: Subject, state: State | None) -> None:
        if state is None:
            set_turning_since(connection, subject, None)
            return
        over = end_unwatched(subject, state, self.clocks.now(), self.new_id())
        record_transition(connection, over, None)
        if subject.kind is SubjectKind.BUSYNESS:
            save_spell(connection, over)
