"""What the exclusion poll reads from the store and writes to it, each tick in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from dashboard.detect.exclusion import conclude_exclusion
from dashboard.domain.condition import Subject
from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.poll.conditions import Conditions
from dashboard.poll.lease import Term
from dashboard.store.answers import record_answers
from dashboard.store.conditions import change, condition
from dashboard.store.connection import Connection
from dashboard.store.credit_ledger import note_spent
from dashboard.store.engine import Store
from dashboard.store.rejections import save_polled
from dashboard.store.transactions import Watch, watches
from dashboard.store.watching import still_watched
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

    def watches(self, after: int) -> list[Watch]:
        """Return what is tracked on any network with a larger watch id, in its order."""
        with self.store.read() as connection:
            return watches(connection, after)

    def still_watched(self, hashes: Sequence[TxHash]) -> set[TxHash]:
        """Return those of the hashes that nobody removed."""
        with self.store.read() as connection:
            return still_watched(connection, self.network_id, hashes)

    def keep(
        self,
        asked_at: datetime,
        answers: Sequence[ExclusionAnswer],
        news: Sequence[ExclusionAnswer],
    ) -> None:
        """Write down what was asked, and what the answers among `news` change.

        Raises StoreError or LeaseLost, and then nothing is written.
        """
        with self.meter.handed_over() as spent, self.store.write() as connection:
            self.term.check(connection)
            note_spent(connection, self.network_id, asked_at, spent)
            record_answers(connection, self.network_id, asked_at, answers)
            self.conditions.look_at_exclusion(connection, asked_at)
            for answer in news:
                subject = Subject.transaction(self.network_id, answer.tx_hash)
                keep_news(connection, subject, answer, asked_at, self.new_id())


def keep_news(
    connection: Connection, subject: Subject, answer: ExclusionAnswer, at: datetime, new_id: UUID
) -> None:
    """Keep the record, if there is one, and change the subject's condition if it changes it.

    The news is owed through the outbox from the moment the transaction is on disk, once for
    each change, whoever saw it first.
    """
    rejection_id = None
    if answer.record is not None:
        rejection_id = save_polled(connection, subject.network_id, answer.record, at)
    before = condition(connection, subject)
    transition = conclude_exclusion(subject, before, answer, at, new_id)
    if transition is not None:
        change(connection, transition, rejection_id)
