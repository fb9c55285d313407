"""A worker with everything around it: its store, the APIs that it asks, the post that it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import DEFAULT_GROUP, DEFAULT_RULES
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import WORKER_LEASE, holder, release
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, a_record
from tests.certificate import Certificate
from tests.databases import new_store
from tests.faults.delivery_promises import (
    StoredDeliveries,
    check_deliveries,
    check_mails_arrived,
    check_sent_once,
    check_ticks,
    check_whole,
    stored_deliveries,
)
from tests.faults.faulty_mail_server import CountingMailServer
from tests.faults.hosted_apis import HostedApis, hosted_apis, nothing
from tests.installation import new_installation
from tests.mail_server import mail_server
from tests.processes import Launcher, Process, ProcessOptions, launching
from tests.waiting import eventually

RECIPIENTS: Final = (
    Recipient("mail", "oncall@example.org"),
    Recipient("mail", "others@example.org"),
)
_YOUTH: Final = timedelta(seconds=8)
"""A transaction that is older is asked about too rarely to wait for what is new of it."""

_GROUP_WAIT: Final = timedelta(milliseconds=300)
_MODULES: Final = ("HUB", "EXP", "MMU", "ADD")
_SETTINGS: Final = """
[store]
url = "{url}"
[devnet]
mode = "off"
[poll]
gas_period = "150ms"
history_period = "150ms"
threshold_period = "150ms"
exclusion_tick = "40ms"
calls_per_transaction = 2000
[alerts]
largest_hourly = 100000
busy_pending = "50ms"
busy_keep_firing = "50ms"
[tls]
ca_file = "{authority}"
[mail]
recipients = [{recipients}]
sender = "linewatch@example.org"
smtp_host = "localhost"
smtp_port = {post}
security = "{security}"
timeout = "{timeout:g}s"
[networks.mine]
network_id = {network}
block_time = "2s"
exclusion = {{ url = "http://127.0.0.1:{hosted}" }}
gas = {{ url = "http://127.0.0.1:{hosted}", key = "of-tests" }}
"""


@dataclass(frozen=True, slots=True)
class Mailing:
    """Who gets mails, and over which server; `timeout` is for one mail, in seconds.

    With a certificate the server speaks TLS. Rejections that are equal in `group_by` are grouped.
    """

    recipients: Sequence[Recipient] = RECIPIENTS
    post: CountingMailServer = field(default_factory=CountingMailServer)
    certificate: Certificate | None = None
    timeout: float = 20.0
    group_by: tuple[Dimension, ...] = DEFAULT_GROUP


@dataclass
class WorkerSite:
    """One worker at a time on one store, in one life after another."""

    home: Path
    url: str
    store: Store
    hosted: HostedApis
    mailing: Mailing
    launcher: Launcher
    variables: dict[str, str]
    records: list[RejectedTransaction] = field(default_factory=list)
    sent_before: set[str] = field(default_factory=set)
    """Message-IDs of what was marked as sent when the last life had ended."""

    @property
    def post(self) -> CountingMailServer:
        """The mail server."""
        return self.mailing.post

    def give_work(self, chance: Random) -> None:
        """Let a few transactions be rejected, and one again."""
        self.reject(chance, chance.randrange(1, 4))
        self.reject_again(chance)

    def start(self, **extra: str) -> Process:
        """Begin a new life of the worker; nobody interferes."""
        self.post.life += 1
        self.post.arrival.clear()
        self.hosted.asked.clear()
        process_options = ProcessOptions(self.variables, self.home / "worker.log", extra)
        return self.launcher.linewatch(["worker"], process_options)

    def start_to_die(self, point: str) -> Process:
        """Begin a life that ends (-9) at a point: at a commit, or at what others see of it."""
        if " " in point:
            return self.start(trap=point)
        born: Future[Process] = Future()

        def kill(moment: str) -> None:
            if moment == point:
                born.result(30).kill()

        self.hosted.reached = self.post.reached = kill
        born.set_result(self.start())
        return born.result()

    def reject(self, chance: Random, count: int) -> None:
        """Let transactions be tracked, and rejected before or after."""
        for tx_hash in self.track(chance, count):
            self.reject_tracked(tx_hash, chance)

    def track(self, chance: Random, count: int) -> list[TxHash]:
        """Let transactions be tracked that are not rejected, each under a label of its own."""
        hashes = [TxHash(chance.randbytes(TxHash.LENGTH)) for _ in range(count)]
        requests = [
            TrackRequest(each, (A_NETWORK,), Remarks(label=str(each)[:14])) for each in hashes
        ]
        with self.store.write() as connection:
            for request in requests:
                track(connection, request, datetime.now(UTC))
        return hashes

    def reject_tracked(self, tx_hash: TxHash, chance: Random) -> None:
        """Let a transaction be rejected."""
        now = datetime.now(UTC)
        now = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._show(a_record(tx_hash=tx_hash, reason_message=_reason(chance), timestamp=now))

    def reject_again(self, chance: Random, count: int = 1) -> None:
        """Let transactions whose rejection is stored be rejected by another node as well."""
        stored = {(each.tx_hash, each.reason) for each in stored_deliveries(self.store).rejections}
        newest = {each.tx_hash: each for each in self.records}
        youth = datetime.now(UTC) - _YOUTH
        known = [
            each
            for each in newest.values()
            if (each.tx_hash, each.reason_message) in stored
            and each.timestamp is not None
            and each.timestamp > youth
        ]
        for before in chance.sample(known, min(count, len(known))):
            other = f"{_reason(chance)} once more, {chance.random()}"
            self._show(
                a_record(tx_hash=before.tx_hash, reason_message=other, timestamp=before.timestamp)
            )

    def kill_and_release(self, process: Process) -> None:
        """Kill the worker, and give its lease back, so that the next need not wait for its end."""
        process.kill()
        self.hosted.reached = self.post.reached = nothing
        self.check_life()
        self.sent_before = stored_deliveries(self.store).sent
        with self.store.write() as connection:
            dead = holder(connection, WORKER_LEASE)
            if dead is not None:
                release(connection, WORKER_LEASE, dead.token)

    def wait_until_at_work(self) -> None:
        """Wait until a worker has the lease."""

        def is_held() -> bool:
            with self.store.read() as connection:
                return holder(connection, WORKER_LEASE) is not None

        eventually(is_held, what="a worker with the lease")

    def wait_until_quiet(self, process: Process) -> None:
        """Wait until every rejection is stored and nothing is pending."""

        def is_quiet() -> bool:
            assert not process.ended.is_set(), f"the worker ended: {process.last_lines()}"
            found = stored_deliveries(self.store)
            return len(found.rejections) == len(self.records) and found.is_settled

        try:
            eventually(is_quiet, what="an end of the work")
        except AssertionError as error:
            found = stored_deliveries(self.store)
            raise AssertionError(
                f"{error}: {len(found.rejections)} of {len(self.records)} rejections stored, "
                f"{len(found.sent)} of {len(found.messages)} messages sent; {process.last_lines()}"
            ) from error

    def finish(self, process: Process | None = None) -> None:
        """Let a last worker, or this one, do what is left: then nothing is lost."""
        process = process or self.start()
        self.settle(process)
        assert process.terminate() == 0, process.last_lines()

    def settle(self, process: Process, others: Sequence[UUID] = (), *, once: bool = False) -> None:
        """Wait until everything is mailed, and check it; `others` are changes of networks.

        `once`: no message may have come twice.
        """
        self.wait_until_quiet(process)
        found = self.found()
        check_deliveries(found, self.records, self.mailing.recipients, self.post.taken, others)
        if once:
            check_sent_once(found, self.post.taken)
        self.check_life()

    def check_life(self) -> None:
        """See that the store is whole, and that nothing marked before this life came again."""
        check_whole(self.store)
        check_ticks(self.store)
        check_mails_arrived(self.found(), self.post.taken)
        came = {each.message_id for each in self.post.taken if each.life == self.post.life}
        again = came & self.sent_before
        assert not again, f"{len(again)} messages were marked as sent, and sent again"

    def found(self) -> StoredDeliveries:
        """Return what the store tells now."""
        return stored_deliveries(self.store)

    def _show(self, record: RejectedTransaction) -> None:
        self.records.append(record)
        self.hosted.reject(record)


@contextmanager
def worker_site(
    home: Path, database: str = "sqlite", mailing: Mailing | None = None
) -> Iterator[WorkerSite]:
    """Yield it on a new store in a database of this kind."""
    with new_store(database, home) as url, worker_site_on(home, url, mailing) as site:
        yield site


@contextmanager
def worker_site_on(home: Path, url: str, mailing: Mailing | None = None) -> Iterator[WorkerSite]:
    """Yield it on a migrated store; the workers that were started end with it."""
    home.mkdir(parents=True, exist_ok=True)
    mailing = mailing or Mailing()
    certificate = mailing.certificate
    tls = {"tls_context": certificate.for_server()} if certificate else {}
    with (
        launching() as launcher,
        hosted_apis() as hosted,
        mail_server(mailing.post, **tls) as port,
        open_store(url) as store,
    ):
        addresses = ", ".join(f'"{each.address}"' for each in mailing.recipients)
        settings = _SETTINGS.format(
            url=url,
            recipients=addresses,
            post=port,
            authority=certificate.path if certificate else "",
            security="starttls" if certificate else "none",
            timeout=mailing.timeout,
            hosted=hosted.port,
            network=A_NETWORK,
        )
        (home / "linewatch.toml").write_text(settings, encoding="utf-8")
        group_briefly(store, mailing.group_by)
        variables = new_installation(home).environment()
        yield WorkerSite(home, url, store, hosted, mailing, launcher, variables)


def group_briefly(store: Store, group_by: tuple[Dimension, ...] = DEFAULT_GROUP) -> None:
    """Let followers wait for each other as long as a life lasts that is cut short."""
    rules = [
        replace(
            rule,
            group_wait=_GROUP_WAIT,
            group_by=group_by if KINDS[rule.kind].is_of_rejections else rule.group_by,
        )
        for rule in DEFAULT_RULES
    ]
    with store.write() as connection:
        save_rules(connection, rules, Actor("tests", A_MOMENT))


def _reason(chance: Random) -> str:
    module = chance.choice(_MODULES)
    lines = chance.randrange(100, 10**6)
    return f"Transaction line count for module {module}={lines} is above the limit 70"
