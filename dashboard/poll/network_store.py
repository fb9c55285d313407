"""The store as the polls of one network use it: nothing is written once the lease is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from dashboard.domain.quantity import NetworkId
from dashboard.poll.lease import Term
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import record_answer_counts
from dashboard.store.monitoring.credits import record_credits
from dashboard.upstream.meter import Meter


@dataclass(frozen=True, slots=True)
class NetworkStore:
    """The store during one term of the lease; `meter` counts what the polls ask upstream."""

    store: Store
    network_id: NetworkId
    term: Term
    meter: Meter = field(default_factory=Meter)

    def read(self) -> AbstractContextManager[Connection]:
        """Read from one snapshot."""
        return self.store.read()

    @contextmanager
    def write(self, asked_at: datetime) -> Iterator[Connection]:
        """Write answers in one transaction, with what they cost and what became of the questions.

        Raises StoreError, or LeaseLost where another worker has the lease: nothing is written then.
        """
        with self.meter.handed_over() as metered, self.store.write() as connection:
            self.term.check(connection)
            record_credits(connection, self.network_id, asked_at, metered.spent)
            record_answer_counts(connection, self.network_id, asked_at, metered.answers)
            yield connection
