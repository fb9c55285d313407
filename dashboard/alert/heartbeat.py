"""A heartbeat to a dead-man service, so that somebody notices when Linewatch itself is dead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.alert.channels.http_answer import judge
from dashboard.alert.channels.http_exchange import HttpRequest, HttpRules, HttpTarget, exchange
from dashboard.alert.message import MaySend
from dashboard.domain.clock import Clock
from dashboard.domain.quantity import NetworkId
from dashboard.errors import DeliveryDeferred, DeliveryRefused
from dashboard.logs import get_logger
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.coverage import PRECISION, covered
from dashboard.store.monitoring.heartbeats import note_heartbeat, note_heartbeat_trouble

_STILL: Final = 4 * PRECISION
"""A network counts as watched for so long after that was written down."""

_log = get_logger("heartbeat")


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Asks one address, while this worker holds the lease and every network is answered."""

    store: Store
    networks: Sequence[NetworkId]
    target: HttpTarget
    rules: HttpRules
    clock: Clock

    def work(self, may_send: MaySend) -> None:
        """Send it and note that, or why not; raises StoreError where the store cannot be asked."""
        why_not = self.why_withheld()
        if why_not:
            _log.warning("the heartbeat is withheld", why=why_not)
            self._note_trouble(f"withheld: {why_not}")
            return
        request = HttpRequest(lambda: (b"", {}), "GET")
        try:
            judge(exchange(self.target, request, self.rules, may_send))
        except (DeliveryDeferred, DeliveryRefused) as error:
            _log.warning("the heartbeat was not accepted", why=str(error))
            self._note_trouble(f"not accepted: {error}")
        else:
            with self.store.write() as connection:
                note_heartbeat(connection, self.clock())

    def _note_trouble(self, trouble: str) -> None:
        with self.store.write() as connection:
            note_heartbeat_trouble(connection, trouble)

    def why_withheld(self) -> str:
        """Return what is wrong; empty where all that is watched was answered lately."""
        oldest = self.clock() - _STILL
        with self.store.read() as connection:
            held = covered(connection, self.networks)
        unwatched = set(self.networks) - {each.network_id for each in held}
        if unwatched:
            return f"network {min(unwatched)} was never watched"
        for each in held:
            if each.silence is not None:
                return (
                    f"questions about {each.watched} of network {each.network_id} are not answered"
                )
            if each.until < oldest:
                return f"no worker asks about {each.watched} of network {each.network_id}"
        return ""
