"""Tasks beside delivery while a worker holds the lease: each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.alert.channels.alertmanager import (
    FIRES_FOR,
    AlertmanagerChannel,
    PushedAlert,
    labels_of,
)
from dashboard.alert.channels.http_to_public_addresses import (
    HttpRequest,
    HttpRules,
    HttpTarget,
    exchange,
    judge,
)
from dashboard.alert.compose import Links, NetworkName, name_in
from dashboard.alert.incident_text import describe
from dashboard.alert.message import MaySend
from dashboard.alert.retries import Elapsed
from dashboard.domain.alerts.condition import INSTALLATION, Subject, Transition
from dashboard.domain.alerts.kinds.kind import DescribedChange
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.health.coverage import Watched
from dashboard.domain.markup import visible
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.quantity import Clock, NetworkId
from dashboard.errors import DeliveryDeferred, DeliveryRefused, LinewatchError
from dashboard.logs import get_logger
from dashboard.store.alerts.alert_status import OpenIncident, ends_of, notified_incidents
from dashboard.store.alerts.recipients import read_directory
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.digests import due_digests, make_digest
from dashboard.store.monitoring.coverage import PRECISION, covered
from dashboard.store.monitoring.upkeep import note_heartbeat, note_heartbeat_trouble

DIGEST_PERIOD: Final = timedelta(seconds=20)
REPEAT_PERIOD: Final = timedelta(minutes=1)
_STILL: Final = 4 * PRECISION
"""A network counts as watched for this long after that was recorded."""

_NOBODYS: Final = UUID(int=0)
_log = get_logger("delivery")
_heartbeat_log = get_logger("heartbeat")


class SideTask(Struct, frozen=True):
    """A task that runs every `period`, never twice at once; it may block, as on a silent server.

    `work` gets a function that tells whether this worker still holds the lease.
    """

    name: str
    period: timedelta
    work: Callable[[MaySend], None]


class SideTasks:
    """Starts each task when it is due; its methods are called from one thread at a time."""

    def __init__(self, tasks: Sequence[SideTask], elapsed: Elapsed) -> None:
        self._tasks = tasks
        self._elapsed = elapsed
        self._due_at: dict[str, timedelta] = {}
        self._running: dict[str, threading.Thread] = {}

    def start_due(self, may_send: MaySend) -> None:
        """Start what is due, unless it is still running since last time."""
        now = self._elapsed()
        for task in self._tasks:
            if now >= self._due_at.get(task.name, now) and not self._is_running(task):
                self._due_at[task.name] = now + task.period
                thread = threading.Thread(
                    target=_work, args=(task, may_send), name=task.name, daemon=True
                )
                self._running[task.name] = thread
                thread.start()

    def wait(self, within: timedelta) -> None:
        for thread in self._running.values():
            thread.join(within.total_seconds())

    def _is_running(self, task: SideTask) -> bool:
        thread = self._running.get(task.name)
        return thread is not None and thread.is_alive()


def _work(task: SideTask, may_send: MaySend) -> None:
    try:
        task.work(may_send)
    except LinewatchError as error:
        _log.warning("a task beside delivery failed", task=task.name, why=str(error))
    except Exception:  # noqa: BLE001 - the top of a thread: the next time it may do
        _log.exception("a task beside delivery failed", task=task.name)


class Digests(Struct, frozen=True):
    """Makes digests of `networks` while this worker holds the lease.

    `domain` is that of Message-IDs.
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


class AlertRepeater(Struct):
    """Pushes open alerts to an Alertmanager again, with the same labels.

    What it pushed last time and is over by now is ended as of that time: the end may have been
    pushed before.
    """

    store: Store
    recipient: Recipient
    channel: AlertmanagerChannel
    networks: Mapping[NetworkId, NetworkName]
    links: Links
    clock: Clock
    _pushed: dict[Subject, PushedAlert] = field(default_factory=dict)

    def work(self, may_send: MaySend) -> None:
        """Push everything that is open; raises DeliveryError and StoreError."""
        with self.store.read() as connection:
            now = {
                each.subject: self._alert(each)
                for each in notified_incidents(connection, self.recipient)
            }
            ends = ends_of(connection, self._pushed.keys() - now.keys())
        over = [replace(self._pushed[each], ends_at=at) for each, at in ends.items()]
        if now or over:
            self.channel.push([*now.values(), *over], may_send)
        self._pushed = now

    def _alert(self, incident: OpenIncident) -> PushedAlert:
        subject = incident.subject
        is_ours = subject.network_id == INSTALLATION
        network = name_in(self.networks, subject.network_id)
        title = visible(network.title)
        opening = Transition(
            _NOBODYS, subject, None, incident.state, incident.opened_at, incident.grounds
        )
        text = describe(DescribedChange(opening, title))
        return PushedAlert(
            labels_of(
                str(subject.kind),
                None if is_ours else int(subject.network_id),
                title,
                rule=visible(subject.rule),
                dimension=visible(subject.dimension),
            ),
            {"summary": text.headline, "description": text.opening},
            incident.opened_at,
            self.clock() + FIRES_FOR,
            self.links.page("alerts", subject.network_id),
        )


class Heartbeat(Struct, frozen=True):
    """Requests one address, while this worker holds the lease and all that is `watched` answers."""

    store: Store
    watched: Collection[tuple[NetworkId, Watched]]
    target: HttpTarget
    rules: HttpRules
    clock: Clock

    def work(self, may_send: MaySend) -> None:
        """Send it and record that, or why not; raises StoreError if the store cannot be asked."""
        why_not = self.why_withheld()
        if why_not:
            _heartbeat_log.warning("the heartbeat is withheld", why=why_not)
            self._note_trouble(f"withheld: {why_not}")
            return
        request = HttpRequest(lambda: (b"", {}), "GET")
        try:
            judge(exchange(self.target, request, self.rules, may_send))
        except (DeliveryDeferred, DeliveryRefused) as error:
            _heartbeat_log.warning("the heartbeat was not accepted", why=str(error))
            self._note_trouble(f"not accepted: {error}")
        else:
            with self.store.write() as connection:
                note_heartbeat(connection, self.clock())

    def _note_trouble(self, trouble: str) -> None:
        with self.store.write() as connection:
            note_heartbeat_trouble(connection, trouble)

    def why_withheld(self) -> str:
        """Return what is wrong; empty if every watched network was answered lately."""
        oldest, networks = self.clock() - _STILL, {network_id for network_id, _ in self.watched}
        with self.store.read() as connection:
            held = covered(connection, sorted(networks))
        if unwatched := networks - {each.network_id for each in held}:
            return f"network {min(unwatched)} was never watched"
        for each in held:
            if (each.network_id, each.watched) not in self.watched:
                continue  # the settings name it no longer
            if each.open_gap is not None:
                return (
                    f"questions about {each.watched} of network {each.network_id} are not answered"
                )
            if each.until < oldest:
                return f"no worker asks about {each.watched} of network {each.network_id}"
        return ""
