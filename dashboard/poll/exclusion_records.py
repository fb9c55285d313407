"""What the exclusion poll reads from the store and writes to it, each tick in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from dashboard.detect.exclusion import conclude_exclusion
from dashboard.domain.condition import Subject
from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId
from dashboard.poll.conditions import Conditions
from dashboard.poll.lease import Term
from dashboard.store.alerts.conditions import current_state, record_transition
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_poll
from dashboard.store.evidence.save_rejections import save_polled
from dashboard.store.monitoring.credits import note_spent
from dashboard.store.tracking.cohorts import Cohort, WatchedCohort, read_cohorts, watched_after
from dashboard.store.tracking.poll_results import Asked, PollResult
from dashboard.upstream.meter import Meter


@dataclass(frozen=True, slots=True)
class ExclusionArchive:
    """The store as seen by the poll of one network during one term.

    `new_id` gives fresh ids, and `meter` counts what the poll asks.
    """

    store: Store
    network_id: NetworkId
    term: Term
    conditions: Conditions
    new_id: Callable[[], UUID]
    meter: Meter = field(default_factory=Meter)

    def watches(self, after: int) -> list[WatchedCohort]:
        """Return what is tracked on the network in cohorts after that id, in their order."""
        with self.store.read() as connection:
            return watched_after(connection, self.network_id, after)

    def cohorts(self, cohort_ids: Sequence[int]) -> list[Cohort]:
        """Return those of the cohorts that still have hashes, with these."""
        with self.store.read() as connection:
            return read_cohorts(connection, self.network_id, cohort_ids)

    def keep(self, asked_at: datetime, asked: Sequence[Asked]) -> dict[int, PollResult]:
        """Write down what was asked and what came of it; return that of each cohort.

        Those of a cohort of which something else came are in new cohorts afterwards. Raises
        StoreError or LeaseLost, and then nothing is written.
        """
        records = [each for one in asked for each in one.answers if each.record is not None]
        with self.meter.handed_over() as spent, self.store.write() as connection:
            self.term.check(connection)
            note_spent(connection, self.network_id, asked_at, spent)
            stayed = record_poll(connection, self.network_id, asked_at, asked)
            self.conditions.update_exclusion(connection, asked_at)
            for answer in records:
                subject = Subject.transaction(self.network_id, answer.tx_hash)
                keep_news(connection, subject, answer, asked_at, self.new_id())
        return stayed


def keep_news(
    connection: Connection, subject: Subject, answer: ExclusionAnswer, at: datetime, new_id: UUID
) -> None:
    """Keep a record, if there is one, and change the subject's condition if it changes it.

    The notification is pending through the outbox from the moment the transaction is on disk, once
    for each change, whoever saw it first.
    """
    if answer.record is None:
        return
    rejection_id = save_polled(connection, subject.network_id, answer.record, at)
    before = current_state(connection, subject)
    transition = conclude_exclusion(subject, before, answer, at, new_id)
    if transition is not None:
        record_transition(connection, transition, rejection_id)
