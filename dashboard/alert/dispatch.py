"""The post office of a worker: turn news into notifications, and hand them over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from dashboard.alert.deliver import Deliverer, expand_outbox
from dashboard.alert.message import MaySend
from dashboard.domain.clock import Clock
from dashboard.domain.notification import DeliveryResult, Recipient
from dashboard.logs import get_logger
from dashboard.store.engine.engine import Store

_log = get_logger("delivery")


@dataclass(frozen=True, slots=True)
class PostOffice:
    """Tells `recipients` of everything that is worth a letter."""

    store: Store
    recipients: Sequence[Recipient]
    deliverer: Deliverer
    clock: Clock

    def run(self, holder_token: int, may_send: MaySend) -> bool:
        """Do one round: expand what is new, deliver what is due; raises StoreError.

        Return whether the next round is to follow at once, since answers are awaited.
        """
        entries = expand_outbox(self.store, self.recipients, self.clock)
        _tell(self.deliverer.deliver_due(holder_token, may_send))
        return entries > 0 or self.deliverer.is_under_way

    def finish(self, within: timedelta) -> Counter[DeliveryResult]:
        """Start nothing more and let letters under way arrive; raises StoreError."""
        return self.deliverer.finish(within)


def _tell(results: Counter[DeliveryResult]) -> None:
    if results.total():
        counts = {result.value: results[result] for result in DeliveryResult}
        _log.info("notifications were attempted", **counts)
