"""Make the digests that are due, each of them once, also where a worker is killed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.alert.message import MaySend
from dashboard.domain.clock import Clock
from dashboard.domain.quantity import NetworkId
from dashboard.domain.recipients import ConfiguredRecipients
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.digests import due_digests, make_digest

PERIOD: Final = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Digests:
    """Makes digests of `networks` while this worker holds the lease.

    Message-IDs stand below `domain`.
    """

    store: Store
    configured: ConfiguredRecipients
    networks: Sequence[NetworkId]
    domain: str
    clock: Clock

    def work(self, may_send: MaySend) -> None:
        """Make what is due; raises StoreError."""
        if not may_send():
            return
        with self.store.read() as connection:
            directory = read_directory(connection, self.configured)
            due = due_digests(connection, directory, self.clock())
        for each in due:
            with self.store.write() as connection:
                directory = read_directory(connection, self.configured)
                make_digest(connection, each, directory, self.networks, self.clock(), self.domain)
