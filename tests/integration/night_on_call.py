"""A night on call: one worker on a clock of its own, and a real mail server that people read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Final
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx
from starlette.responses import PlainTextResponse

from dashboard.alert.notify import Notifier
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.people.access import Actor
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.poll.exclusion import save_rejections
from dashboard.poll.lease import Clocks, Lease, Term
from dashboard.poll.measured_rules import MeasuredRules, RuleReader
from dashboard.settings import Settings, load_settings
from dashboard.store.alerts.rules import rules_in_force, save_rules
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.tracking.transactions import track
from dashboard.web.signed_links import SignedLinks
from dashboard.wiring.channels import open_notifier, rules_of_text
from dashboard.wiring.networks import networks_of
from dashboard.wiring.page_settings import rule_names
from dashboard.wiring.recipients import configured_recipients
from tests.builders import a_hash, a_record, an_address
from tests.databases import new_sqlite_store
from tests.exim import DOMAIN, Exim
from tests.fake_clock import FakeClock
from tests.faults.faulty_mail_server import hashes_in
from tests.mail_server import PASSWORD, USERNAME
from tests.one_by_one import recent_notifications
from tests.waiting import eventually

ZONE: Final = ZoneInfo("Europe/Zurich")
EVENING: Final = datetime(2026, 11, 24, 2, 9, tzinfo=ZONE)
_LINK: Final = re.compile(r"https://linewatch\.example\.org(/link/\S+)")
_SETTINGS: Final = """
[pages]
public_url = "https://linewatch.example.org"
[mail]
recipients = ["oncall@{domain}", "team@{domain}"]
sender = "linewatch@{domain}"
time_zone = "Europe/Zurich"
smtp_host = "localhost"
smtp_port = {port}
username = "{username}"
password = "{password}"
[recipients."lead@{domain}"]
[tls]
ca_file = "{authority}"
[networks.linea]
network_id = 59144
title = "Linea"
exclusion = {{ url = "https://gateway.example.org" }}
"""


@dataclass
class Night:
    """What happens in a night, in the order in which a test lets it happen."""

    store: Store
    exim: Exim
    clock: FakeClock
    settings: Settings
    notifier: Notifier
    measured: MeasuredRules
    term: Term
    rejected: list[str] = field(default_factory=list)

    def until(self, at: str, step: float = 5) -> None:
        """Let the worker work until this time of day."""
        hour, minute, second = map(int, f"{at}:00".split(":")[:3])
        local = self.clock.now().astimezone(ZONE)
        end = local.replace(hour=hour, minute=minute, second=second)
        while self.clock.now() < end:
            self.clock.wait(min(timedelta(seconds=step), end - self.clock.now()))
            self.work()

    def work(self) -> None:
        """Let the worker do what is due now."""
        self.measured.measure(self.term)
        while self.notifier.run(self.term.token, self.term.lasts):
            pass

    def reject(self, count: int, label: str = "", module: str = "ADD") -> None:
        """Let tracked transactions be rejected by the sequencer."""
        now = self.clock.now()
        [network] = networks_of(self.settings)
        with self.store.write() as connection:
            for number in range(len(self.rejected) + 1, len(self.rejected) + count + 1):
                record = a_record(
                    tx_hash=a_hash(0xA1C0_0000_0000 + number),
                    sender=an_address(number),
                    nonce=number,
                    tx_rejection_stage=RejectionStage.SEQUENCER,
                    reason_message=(
                        f"Transaction line count for module {module}={600_000 + number} "
                        "is above the limit 524288"
                    ),
                    timestamp=now,
                    block_number=31_000_000 + number,
                )
                request = TrackRequest(record.tx_hash, (network.network_id,), Remarks(label=label))
                track(connection, request, now)
                save_rejections(connection, network.network_id, [record], now, uuid4)
                self.rejected.append(str(record.tx_hash))

    def received(self) -> list[tuple[datetime, str, EmailMessage]]:
        """Return every mail that lies in a mailbox: when it was sent, to whom, the mail."""
        with self.store.read() as connection:
            sent = {
                each.message_id: each.sent_at
                for each in recent_notifications(connection, 100)
                if each.sent_at is not None
            }

        def mails() -> list[tuple[datetime, str, EmailMessage]]:
            return [
                (sent[mail["Message-ID"]].astimezone(ZONE), name, mail)
                for name in self.exim.mailboxes
                for mail in self.exim.mails(name)
            ]

        eventually(lambda: len(mails()) >= len(sent), what="the delivery of all mails")
        return sorted(mails(), key=lambda each: (*each[:2], each[2]["Date"].datetime))

    def named(self, mailbox: str) -> Counter[str]:
        """Return how many mails reported each transaction to a mailbox.

        One that says who acknowledged an incident reports nothing new.
        """
        mails = [
            mail
            for _, name, mail in self.received()
            if name == mailbox and not mail["Subject"].startswith("Acknowledged by ")
        ]
        return Counter(each for mail in mails for each in hashes_in(mail))


@contextmanager
def night_on_call(folder: Path, exim: Exim, rules: str) -> Iterator[Night]:
    """Begin the evening before, with these rules in place of the default ones of their names."""
    text = _SETTINGS.format(
        domain=DOMAIN,
        port=exim.port,
        username=USERNAME,
        password=PASSWORD,
        authority=exim.certificate.path,
    )
    (folder / "linewatch.toml").write_text(text, encoding="utf-8")
    settings = load_settings({"LINEWATCH_HOME": str(folder)})
    clock = FakeClock()
    clock.wait(EVENING - clock.now())
    clocks = Clocks(clock.now, clock.elapsed)
    networks = networks_of(settings)
    with open_store(new_sqlite_store(folder / "linewatch.sqlite"), clock.boot_clock) as store:
        _put_in_force(store, settings, rules, clock.now())
        notifier = open_notifier(settings, store, networks, clocks=clocks)
        reader = RuleReader([each.network_id for each in networks], {})
        measured = MeasuredRules(store, reader, clocks, uuid4)
        term = Lease(store, "worker", "a worker", timedelta(days=1), clock.elapsed).acquire()
        assert term is not None
        known = PageSettings(recipients=configured_recipients(settings))
        application.register(Application(store, (), None, clock.now, settings=known))
        yield Night(store, exim, clock, settings, notifier, measured, term)


def _put_in_force(store: Store, settings: Settings, text: str, at: datetime) -> None:
    wanted = {each.name: each for each in rules_of_text(rule_names(settings), text)}
    with store.write() as connection:
        known = {each.name: each for each in rules_in_force(connection)}
        save_rules(connection, tuple((known | wanted).values()), Actor("Ann", at))


def links_in(mail: EmailMessage) -> list[str]:
    """Return the paths of the links of a mail that act, in the order of its text."""
    body = mail.get_body(("plain",))
    assert body is not None
    return _LINK.findall(body.get_content())


async def open_link(path: str, **form: str) -> httpx.Response:
    """Open a link of a mail in a browser, or send its form."""
    transport = httpx.ASGITransport(SignedLinks(PlainTextResponse("a page")))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.request("POST" if form else "GET", path, data=form or None)
