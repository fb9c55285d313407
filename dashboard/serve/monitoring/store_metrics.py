"""Metrics of what the store says: the networks, the worker, and how alerts get on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.quantity import Clock, NetworkId, Wei
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.serve.monitoring.serve_metrics import counter, gauge
from dashboard.store.alerts.alert_status import count_by_channel
from dashboard.store.alerts.conditions import current_conditions
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.latest import latest_fees
from dashboard.store.health import WorkState
from dashboard.store.monitoring.upkeep import spent_since
from dashboard.store.rejections.counts import counted_on
from dashboard.store.tracking.follow_ups import count_ends
from dashboard.store.tracking.search import RecordStatus, TrackedFilter, count_tracked

_MOST_SERIES: Final = 500
"""How many series of rejections a day may have: nodes could name any number of modules."""

_TRACKED_AGAIN: Final = timedelta(minutes=1)
"""How often tracked transactions are counted, which takes a second for millions of them."""

_ENDED: Final = (NotificationState.SENT, NotificationState.DEAD)


class NetworkFigures(Struct, frozen=True):
    """What the store says of the networks now, and how many there are of this day in UTC.

    `busy` lacks a network whose state is unknown, `base_fees` one that never answered.
    """

    base_fees: Mapping[NetworkId, Wei]
    busy: Mapping[NetworkId, bool]
    rejections: Mapping[tuple[NetworkId, str, RejectionStage], int]
    deliveries: Mapping[tuple[str, NotificationState], int]
    credits: Mapping[NetworkId, int]


class NetworkMetrics(Collector):
    """Reports what was last read; nothing if the store could not be read."""

    def __init__(self, names: Mapping[NetworkId, str]) -> None:
        self.figures: NetworkFigures | None = None
        self._names = names
        self._tracked: dict[str, int] = {}
        self._tracked_at: datetime | None = None

    def read(self, connection: Connection, now: datetime) -> None:
        """Read all of it, and count tracked transactions if that was a minute ago."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        credits_: Counter[NetworkId] = Counter()
        for line in spent_since(connection, midnight):
            credits_[line.network_id] += line.spent.credits
        fees = {each: latest_fees(connection, each, now) for each in self._names}
        self.figures = NetworkFigures(
            base_fees={
                each: found.value.estimated_base_fee for each, found in fees.items() if found
            },
            busy=self._read_busy(connection),
            rejections=counted_on(connection, midnight, _MOST_SERIES),
            deliveries=count_by_channel(connection, midnight),
            credits=credits_,
        )
        if self._tracked_at is None or not now - _TRACKED_AGAIN < self._tracked_at <= now:
            self._tracked = _count_tracked(connection)
            self._tracked_at = now

    def _read_busy(self, connection: Connection) -> dict[NetworkId, bool]:
        subjects = {each: Subject(SubjectKind.BUSYNESS, each) for each in self._names}
        found = current_conditions(connection, list(subjects.values()))
        states = {each: found.get(subject.key()) for each, subject in subjects.items()}
        return {
            each: held.state is State.BUSY
            for each, held in states.items()
            if held and held.state in {State.BUSY, State.CALM}
        }

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, in the order of docs/serve.md."""
        figures, names = self.figures, self._names
        if figures is None:
            return
        about = "The base fee of the next block, as it was last estimated."
        fees = {names[each]: float(fee) for each, fee in figures.base_fees.items()}
        yield gauge("base_fee_wei", about, fees, "network")
        busy = {names[each]: is_busy for each, is_busy in figures.busy.items()}
        yield gauge("network_busy", "Whether a busy spell lasts.", busy, "network")
        about = "Rejections that arrived, counted from midnight in UTC."
        rejected = {
            (names[network_id], module, stage): many
            for (network_id, module, stage), many in figures.rejections.items()
            if network_id in names
        }
        yield counter("rejections", about, rejected, "network", "module", "stage")
        about = (
            "Tracked transactions by what is known of them; an included one may be rejected too."
        )
        yield gauge("tracked_transactions", about, self._tracked, "verdict")
        about = "Notifications made since midnight in UTC that were sent, or are dead."
        ended = {at: many for at, many in figures.deliveries.items() if at[1] in _ENDED}
        yield counter("deliveries", about, ended, "channel", "state")
        about = "Credits spent upstream, counted from midnight in UTC."
        spent = {name: figures.credits.get(each, 0) for each, name in names.items()}
        yield counter("credits", about, spent, "network")


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


def _count_tracked(connection: Connection) -> dict[str, int]:
    """Count by what is on record, and by outcome."""
    included, replaced = count_ends(connection)
    of_record = {
        str(status): count_tracked(connection, TrackedFilter(record_status=status))
        for status in RecordStatus
    }
    return of_record | {"included": included, "replaced": replaced}
