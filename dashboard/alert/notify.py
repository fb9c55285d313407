"""Turn transitions into notifications, one for each recipient, and deliver what is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashboard.alert.deliver import Deliverer
from dashboard.alert.message import MaySend
from dashboard.domain.clock import Clock
from dashboard.domain.condition import Transition
from dashboard.domain.notification import DeliveryResult, Recipient
from dashboard.logs import get_logger
from dashboard.store.alerts import outbox
from dashboard.store.engine.engine import Store

_ENTRIES_AT_ONCE: Final = 200
"""Outbox entries that one transaction expands."""

_log = get_logger("delivery")


@dataclass(frozen=True, slots=True)
class Notifier:
    """Notifies `recipients` of every transition that opens, changes or closes an incident."""

    store: Store
    recipients: Sequence[Recipient]
    deliverer: Deliverer
    clock: Clock

    def run(self, holder_token: int, may_send: MaySend) -> bool:
        """Do one round: expand what is new, deliver what is due; raises StoreError.

        Return whether the next round is to follow at once, since answers are awaited.
        """
        entries = expand_outbox(self.store, self.recipients, self.clock)
        _log_results(self.deliverer.deliver_due(holder_token, may_send))
        return entries > 0 or self.deliverer.is_sending

    def finish(self, within: timedelta) -> Counter[DeliveryResult]:
        """Start nothing more and wait for the attempts that are running; raises StoreError."""
        return self.deliverer.finish(within)


def expand_outbox(store: Store, recipients: Sequence[Recipient], clock: Clock) -> int:
    """Turn the next entries of the outbox into notifications, one for each recipient.

    Return how many entries were expanded, none when all are done.
    """
    with store.read() as connection:
        if not outbox.pending_expansion(connection, 1):
            return 0
    with store.write() as connection:
        entries = outbox.pending_expansion(connection, _ENTRIES_AT_ONCE)
        for entry in entries:
            routed = recipients_of(entry.transition, recipients)
            outbox.expand(connection, entry, routed, clock())
    return len(entries)


def recipients_of(transition: Transition, everyone: Sequence[Recipient]) -> Sequence[Recipient]:
    """Return all recipients where an incident opens, changes or closes, and nobody otherwise."""
    return everyone if transition.is_news else ()


def _log_results(results: Counter[DeliveryResult]) -> None:
    if results.total():
        counts = {result.value: results[result] for result in DeliveryResult}
        _log.info("notifications were attempted", **counts)
