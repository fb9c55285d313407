"""A rehearsal: a storm of rejections in a sandbox, and who would get how many messages when.

The real rules, silences and settings are used; the store is a new one, the clock a simulated one,
and every channel a Maildir in the sandbox, so that nothing leaves this machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.message import Channel, MaySend, Message, MessageHeaders, always
from dashboard.alert.notify import Notifier
from dashboard.domain.alerts.notification import NO_DOMAIN
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreError
from dashboard.poll.exclusion import save_rejections
from dashboard.poll.lease import Clocks
from dashboard.settings import Settings
from dashboard.store.alerts.alert_status import notification_counts
from dashboard.store.alerts.incident_list import WithheldChanges, withheld_in_all
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.database import address_of
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import WORKER_LEASE, acquire
from dashboard.store.maintenance.copy import read_table, write_table
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import addresses_off, recipients, rules, silences, suspect_addresses
from dashboard.store.tracking.transactions import track_all
from dashboard.wiring.channels import open_notifier
from dashboard.wiring.networks import Network
from dashboard.wiring.store import in_force

_REAL_TABLES: Final = (rules, silences, addresses_off, suspect_addresses, recipients)
"""The decisions of people, which the sandbox copies."""

_MODULES: Final = ("HUB", "HUB", "HUB", "ADD", "MUL")
_STAGES: Final = (RejectionStage.SEQUENCER, RejectionStage.SEQUENCER, RejectionStage.RPC)
_SENDERS: Final = 10
_SECOND: Final = timedelta(seconds=1)
_FOLLOWED: Final = timedelta(hours=26)
"""How long a storm is followed from its beginning: quiet hours end within a day."""

_LEASE: Final = timedelta(hours=1)
_SPACE: Final = UUID("a7c7a5de-6c0e-4e0c-8f3b-3f6c9a6d2a11")


class Storm(Struct, frozen=True):
    """How many transactions are rejected on a network, from when on, within which time."""

    network: Network
    rejections: int
    begins_at: datetime
    length: timedelta


class RehearsedMessage(Struct, frozen=True):
    """A message that a recipient would get."""

    at: datetime
    channel: str
    address: str
    subject: str


class Rehearsal(Struct, frozen=True):
    """The result of a storm, in the order of time; `pending`: so many were held to the end.

    `withheld` are changes of which somebody is not notified, for example because of a silence.
    """

    storm: Storm
    messages: Sequence[RehearsedMessage]
    pending: int
    withheld: Sequence[WithheldChanges]
    folder: Path


class _SimulatedTime:
    """A clock that only the rehearsal moves."""

    def __init__(self, now: datetime) -> None:
        self._begun = self._now = now

    def now(self) -> datetime:
        return self._now

    def elapsed(self) -> timedelta:
        return self._now - self._begun + _LEASE

    def go_on(self, step: timedelta) -> None:
        self._now += step


class _SandboxChannel:
    """Writes messages into a Maildir and remembers them; replaces a channel of any kind."""

    def __init__(self, name: str, folder: Path, sender: str, time: _SimulatedTime) -> None:
        self._maildir = MaildirChannel(folder / name, sender)
        self._name = name
        self._time = time
        self._lock = Lock()
        self.messages: list[RehearsedMessage] = []

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Write one message; a channel without addresses uses its name as an unused address."""
        to = headers.to if self._name == MAIL else f"{self._name}@{NO_DOMAIN}"
        answer = self._maildir.send(message, replace(headers, to=to), may_send)
        sent = RehearsedMessage(self._time.now(), self._name, headers.to, message.subject)
        with self._lock:
            self.messages.append(sent)
        return answer


def rehearse(settings: Settings, real: Store, storm: Storm, folder: Path) -> Rehearsal:
    """Play a storm into a new store below `folder`; messages stay there as Maildirs."""
    url = address_of(folder / "linewatch.sqlite")
    migrate(url)
    time = _SimulatedTime(storm.begins_at)
    names = (MAIL, *settings.channels)
    channels = {
        name: _SandboxChannel(name, folder / "messages", settings.mail.sender, time)
        for name in names
    }
    with closing(open_store(url)) as store:
        _take_over(real, store)
        pending = _play(in_force(settings, real), store, storm, channels, time)
        with store.read() as connection:
            withheld = withheld_in_all(connection)
    messages = sorted(
        (each for channel in channels.values() for each in channel.messages),
        key=lambda each: (each.at, each.channel, each.address),
    )
    return Rehearsal(storm, messages, pending, withheld, folder)


def _take_over(real: Store, sandbox: Store) -> None:
    """Copy the decisions of people."""
    for table in _REAL_TABLES:
        with real.read() as source, sandbox.write() as target:
            write_table(target, table, read_table(source, table))


def _play(
    settings: Settings,
    store: Store,
    storm: Storm,
    channels: Mapping[str, Channel],
    time: _SimulatedTime,
) -> int:
    """Play the storm and send everything; return how many notifications were not sent."""
    clocks = Clocks(time.now, time.elapsed)
    notifier = open_notifier(settings, store, (storm.network,), channels, clocks)
    token = _take_lease(store)
    done = 0
    while True:
        passed = time.now() - storm.begins_at
        share = 1.0 if passed >= storm.length else (passed + _SECOND) / (storm.length + _SECOND)
        due = min(storm.rejections, int(storm.rejections * share) or 1)
        _reject(store, storm, range(done, due), time.now())
        done = due
        _settle(notifier, token)
        with store.read() as connection:
            pending = notification_counts(connection, time.now()).pending
        if done == storm.rejections and (not pending or passed > _FOLLOWED):
            return pending
        time.go_on(_SECOND if passed < storm.length + 120 * _SECOND else 30 * _SECOND)


def _settle(notifier: Notifier, token: int) -> None:
    while notifier.run(token, always):
        pass


def _take_lease(store: Store) -> int:
    with store.write() as connection:
        token = acquire(connection, WORKER_LEASE, "rehearsal", _LEASE)
    if token is None:
        raise StoreError("the sandbox is used by another rehearsal: choose another folder")
    return token


def _reject(store: Store, storm: Storm, numbers: range, at: datetime) -> None:
    """Track and reject the transactions with these numbers."""
    network_id = storm.network.network_id
    with store.write() as connection:
        for number in numbers:
            record = _record(number, at)
            said = Remarks(label="rehearsal")
            track_all(connection, [TrackRequest(record.tx_hash, (network_id,), said)], at)
            _save(connection, storm, record, at)


def _save(connection: Connection, storm: Storm, record: RejectedTransaction, at: datetime) -> None:
    new_id = partial(uuid5, _SPACE, str(record.tx_hash))
    save_rejections(connection, storm.network.network_id, [record], at, new_id)


def _record(number: int, at: datetime) -> RejectedTransaction:
    module = _MODULES[number % len(_MODULES)]
    stage = _STAGES[number % len(_STAGES)]
    return RejectedTransaction(
        tx_hash=TxHash(hashlib.sha256(b"rehearsal %d" % number).digest()),
        sender=Address(hashlib.sha256(b"sender %d" % (number % _SENDERS)).digest()[:20]),
        nonce=number,
        tx_rejection_stage=stage,
        reason_message=(
            f"Transaction line count for module {module}={600_000 + number} "
            "is above the limit 524288"
        ),
        timestamp=at,
        block_number=number + 1 if stage is RejectionStage.SEQUENCER else None,
    )
