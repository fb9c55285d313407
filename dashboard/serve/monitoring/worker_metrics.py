"""Metrics of the worker: whether it runs and is answered, and how alerts get on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.serve.monitoring.serve_metrics import gauge
from dashboard.store.health import WorkState

_OPEN_STATES: Final = (
    IncidentState.FIRING,
    IncidentState.ACKNOWLEDGED,
    IncidentState.SILENCED,
    IncidentState.NO_DATA,
)


class WorkerMetrics(Collector):
    """Reports `work`, which the store said last; nothing if the store could not be read."""

    def __init__(self, names: Mapping[NetworkId, str], clock: Clock) -> None:
        self.work: WorkState | None = None
        self._names = names
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, in the order of docs/serve.md."""
        if self.work is not None:
            yield from self._worker(self.work)
            yield from self._alerts(self.work)

    def _worker(self, work: WorkState) -> Iterator[Metric]:
        about = "Whether a worker is running: 0 if it ended, is paused or is cut off."
        yield gauge("worker_up", about, work.has_worker)
        now = self._clock()
        ages = {
            (self._names[network_id], str(operation)): (now - at).total_seconds()
            for (network_id, operation), at in work.answered_at.items()
        }
        about = "Time since a question of the worker was last answered."
        yield gauge("source_answer_age_seconds", about, ages, "network", "operation")
        failing = {
            (self._names[network_id], str(operation)): (network_id, operation) in work.failing
            for network_id, operation in sorted({*work.answered_at, *work.failing})
        }
        about = "Whether a question of the worker failed and was not answered since."
        yield gauge("source_failing", about, failing, "network", "operation")
        if work.free_on_disk is not None:
            room = work.free_on_disk
            yield gauge("store_disk_free_bytes", "Room on the disk of the store.", room)

    def _alerts(self, work: WorkState) -> Iterator[Metric]:
        counts, now = work.notifications, self._clock()
        incidents = {
            (severity.value, state.value): work.incidents[severity, state]
            for severity in Severity
            for state in _OPEN_STATES
        }
        yield gauge("incidents", "Open incidents.", incidents, "severity", "state")
        about = "Changes that are not turned into notifications yet."
        yield gauge("changes_pending", about, counts.pending_changes)
        of_states = {
            NotificationState.PENDING: counts.pending,
            NotificationState.HELD: counts.held,
            NotificationState.SENT: counts.sent,
            NotificationState.DEAD: counts.dead,
        }
        about = "Notifications pending and held now, and sent or dead of the last 30 days."
        yield gauge("notifications", about, of_states, "state")
        about = "Pending notifications that wait neither for their time nor for the cap."
        yield gauge("notifications_in_delivery", about, counts.in_delivery)
        began = counts.in_delivery_since
        age = 0.0 if began is None else (now - began).total_seconds()
        about = "Time since the oldest of them could be sent; 0 without any."
        yield gauge("notifications_in_delivery_age_seconds", about, age)
